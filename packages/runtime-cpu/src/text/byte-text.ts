/**
 * Bytes that are not UTF-8 become lone surrogates U+DC00 + byte (like Python's `surrogateescape`), which survive JSON
 * as `\udcXX`. Text can therefore represent any byte sequence without loss.
 */
const escapeBase = 0xdc00;

/** The text form of a raw byte that is not part of UTF-8 or of a token's name. */
export function escapeByte(byte: number): string {
  return String.fromCharCode(escapeBase + byte);
}

/** Text to bytes: UTF-8, with lone U+DC00..U+DCFF converted to the byte they escape. */
export function bytesOfText(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= escapeBase && code <= escapeBase + 0xff) bytes.push(code - escapeBase);
    else if (code >= 0xd800 && code <= 0xdfff) bytes.push(0xef, 0xbf, 0xbd);
    else pushCodePoint(bytes, code);
  }
  return bytes;
}

/** Bytes to text, exactly invertible by {@link bytesOfText}. */
export function textOfBytes(bytes: readonly number[]): string {
  let text = '';
  let index = 0;
  while (index < bytes.length) {
    const length = sequenceLength(bytes, index);
    if (length === 0) {
      text += escapeByte(bytes[index] ?? 0);
      index += 1;
    } else {
      text += String.fromCodePoint(codePointAt(bytes, index, length));
      index += length;
    }
  }
  return text;
}

/** Number of bytes from `index` on that form an incomplete character; 0 when the tail is complete. */
export function incompleteTailLength(bytes: readonly number[]): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return expectedLength(byte) > back ? back : 0;
  }
  return 0;
}

function pushCodePoint(bytes: number[], code: number): void {
  if (code < 0x80) bytes.push(code);
  else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
  else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
}

function expectedLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/** The length of the valid UTF-8 sequence at `index`, or 0 without one. */
function sequenceLength(bytes: readonly number[], index: number): number {
  const length = expectedLength(bytes[index] ?? 0);
  if (length === 0 || index + length > bytes.length) return 0;
  for (let i = 1; i < length; i++) if (((bytes[index + i] ?? 0) & 0xc0) !== 0x80) return 0;
  const code = codePointAt(bytes, index, length);
  const isOverlong = (length === 3 && code < 0x800) || (length === 4 && code < 0x10000);
  const isOutside = (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff;
  return isOverlong || isOutside ? 0 : length;
}

function codePointAt(bytes: readonly number[], index: number, length: number): number {
  const lead = bytes[index] ?? 0;
  if (length === 1) return lead;
  let code = lead & (0xff >> (length + 1));
  for (let i = 1; i < length; i++) code = (code << 6) | ((bytes[index + i] ?? 0) & 63);
  return code;
}
