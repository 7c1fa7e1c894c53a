// bundle.mjs SOURCES FOLDER: each page with its style sheet and its program with all that they
// import, in one file whose Content-Security-Policy names the style and the program by their hashes.
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

async function makePage(name, styleEntry, programEntry) {
    const style = await bundle(styleEntry, {});
    const program = await bundle(programEntry, { format: "iife" });
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
    const page = readFileSync(join(sources, name), "utf-8").replace(
        /@([A-Z]+)@/g,
        (_, part) => parts[part],
    );
    writeFileSync(join(folder, name), page);
}

await makePage("page.html", "index.css", "index.js");
await makePage("timeline.html", "timeline.css", "timeline.js");
