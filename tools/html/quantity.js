// Numbers as people read them, as tools/report/quantity.c has them.

const digits = (value) =>
    value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);

function ns(value) {
    if (value < 0) return `\u2212${ns(-value)}`;
    const size = value;
    if (size < 1e3) return `${Math.round(value * 10) / 10} ns`;
    if (size < 999.5e3) return `${digits(value / 1e3)} µs`;
    if (size < 999.5e6) return `${digits(value / 1e6)} ms`;
    if (size < 60e9) return `${digits(value / 1e9)} s`;
    if (size < 3600e9) return `${Math.floor(value / 60e9)} m ${Math.floor((value / 1e9) % 60)} s`;
    return `${Math.floor(value / 3600e9)} h ${Math.floor((value / 60e9) % 60)} m`;
}

function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit++;
    }
    return unit ? `${digits(value)} ${units[unit]}` : `${Math.round(value * 10) / 10} B`;
}

function count(value) {
    if (value < 1e6) {
        const rounded = Math.round(value * 100) / 100;
        return rounded.toLocaleString("en").replaceAll(",", "\u202f");
    }
    const units = [
        [1e12, "T"],
        [1e9, "G"],
        [1e6, "M"],
    ];
    const [size, name] = units.find(([least]) => value >= least);
    return `${digits(value / size)} ${name}`;
}

const forms = { ns, bytes, count };

export function quantity(value, unit) {
    return value === 0 ? "0" : forms[unit](value);
}

export function share(part, whole) {
    if (!whole) return "";
    const percent = (100 * part) / whole;
    if (percent === 0) return "0 %";
    return percent < 0.005 ? "<0.01 %" : `${percent < 10 ? percent.toFixed(2) : percent.toFixed(1)} %`;
}
