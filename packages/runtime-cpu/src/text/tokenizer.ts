import { bytesOfText, escapeByte, textOfBytes } from './byte-text.ts';
import { specialTokenNames } from './vocabulary.ts';

const tokenName = /<\|(?:end|arg|tool_\d|system|user|assistant|tool|tools)\|>/g;

/** Encodes plain text: one token for each byte. Names of special tokens stay plain bytes. */
export function encodeText(text: string): number[] {
  return bytesOfText(text);
}

/** Encodes generated text: like {@link encodeText}, but names of special tokens become those tokens. */
export function encodeGenerated(text: string): number[] {
  const tokens: number[] = [];
  let from = 0;
  for (const match of text.matchAll(tokenName)) {
    tokens.push(...bytesOfText(text.slice(from, match.index)), 256 + specialTokenNames.indexOf(match[0]));
    from = match.index + match[0].length;
  }
  tokens.push(...bytesOfText(text.slice(from)));
  return tokens;
}

/** Decodes tokens to text; {@link encodeGenerated} restores the same tokens. */
export function decodeTokens(tokens: readonly number[]): string {
  let text = '';
  let bytes: number[] = [];
  for (const token of tokens) {
    if (token < 256) {
      bytes.push(token);
      continue;
    }
    text += decodeBytes(bytes) + (specialTokenNames[token - 256] ?? '');
    bytes = [];
  }
  return text + decodeBytes(bytes);
}

/** Escapes the first byte of spelled-out special token names, so that they stay bytes. */
function decodeBytes(bytes: readonly number[]): string {
  return textOfBytes(bytes).replaceAll(tokenName, (name) => escapeByte(0x3c) + name.slice(1));
}
