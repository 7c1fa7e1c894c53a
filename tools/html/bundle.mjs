// bundle.mjs SOURCES FOLDER: page.html, index.css and index.js with all it imports, in one file
// whose Content-Security-Policy names the style and the program by their hashes.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [sources, folder] = process.argv.slice(2);
const esbuild = createRequire(join(folder, "package.json"))("esbuild");

async function bundle(entry, options) {
    const built = await esbuild.build({
        entryPoints: [join(sources, entry)],
        bundle: true,
        minify: true,
        write: false,
        legalComments: "eof",
        target: ["chrome123", "firefox120", "safari17.5"],
        nodePaths: [join(folder, "node_modules")],
        logLevel: "warning",
        ...options,
    });
    const text = built.outputFiles[0].text.trim();
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${entry}: ends its own element`);
    return text;
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const style = await bundle("index.css", {});
const program = await bundle("index.js", { format: "iife" });
const policy = [
    "default-src 'none'",
    `script-src ${hash(program)}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
].join("; ");
const parts = { POLICY: policy, STYLE: style, PROGRAM: program };
const page = readFileSync(join(sources, "page.html"), "utf-8").replace(
    /@([A-Z]+)@/g,
    (_, name) => parts[name],
);
writeFileSync(join(folder, "page.html"), page);
