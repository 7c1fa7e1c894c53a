// The octets of a block of the page, see tools/html_block.h.

import { inflateSync } from "fflate";

export function blockOctets(name) {
    const element = document.querySelector(`script[data-block="${name}"]`);
    if (!element) return null;
    const text = element.textContent;
    return inflateSync(Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : fromBase64(text));
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
