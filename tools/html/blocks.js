// The octets of a block of the page, see tools/page/html_block.h.

import { inflateSync } from "fflate";

// What the first view needs. The browser inflates it fastest, but says when it is done; what is asked
// for later is inflated here.
const FIRST = /^(?!column-|moment-|base-errors-|cum-errors-)|^column-(cpu|calls)(-[ab])?$/;
const inflated = new Map();

export async function readFirstBlocks() {
    const elements = [...document.querySelectorAll("script[data-block]")];
    await Promise.all(
        elements
            .map((element) => [element.dataset.block, element])
            .filter(([name]) => FIRST.test(name))
            .map(async ([name, element]) => {
                const packed = new Blob([octetsOf(element)]).stream();
                const octets = new Response(packed.pipeThrough(new DecompressionStream("deflate-raw")));
                inflated.set(name, new Uint8Array(await octets.arrayBuffer()));
            }),
    );
}

export function hasBlock(name) {
    return inflated.has(name) || document.querySelector(`script[data-block="${name}"]`) !== null;
}

export function blockOctets(name) {
    if (inflated.has(name)) return inflated.get(name);
    const element = document.querySelector(`script[data-block="${name}"]`);
    return element && inflateSync(octetsOf(element));
}

function octetsOf(element) {
    const text = element.textContent;
    return Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : fromBase64(text);
}

function fromBase64(text) {
    const characters = atob(text);
    const octets = new Uint8Array(characters.length);
    for (let i = 0; i < octets.length; i++) octets[i] = characters.charCodeAt(i);
    return octets;
}

export function blockText(name) {
    return new TextDecoder().decode(blockOctets(name) ?? new Uint8Array());
}

export function blockJson(name) {
    return JSON.parse(blockText(name));
}

// Numbers as LEB128, one after the other. Beyond 2^53 the last digits are rounded.
export class Numbers {
    constructor(octets) {
        this.octets = octets ?? new Uint8Array();
        this.at = 0;
    }

    get left() {
        return this.at < this.octets.length;
    }

    next() {
        const octets = this.octets;
        let octet = octets[this.at++];
        if (octet < 128) return octet;
        let value = octet & 127;
        let factor = 128;
        do {
            octet = octets[this.at++];
            value += (octet & 127) * factor;
            factor *= 128;
        } while (octet > 127);
        return value;
    }
}
