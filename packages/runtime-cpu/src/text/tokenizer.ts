import { bytesOfText, escapeByte, textOfBytes } from './byte-text.ts';
import { specialTokenNames } from './vocabulary.ts';

const tokenName = /<\|(?:end|arg|tool_\d|system|user|assistant|tool|tools)\|>/g;

/** Plain text to tokens: one token for each byte. Names of special tokens in it stay plain bytes. */
export function encodeText(text: string): number[] {
  return bytesOfText(text);
}

/** What the model once wrote to tokens: as {@link encodeText}, but names of special tokens are those tokens. */
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

/** Tokens to text, such that {@link encodeGenerated} gives the very same tokens back. */
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

/** Bytes that spell the name of a special token get their first one escaped, so that they stay bytes. */
function decodeBytes(bytes: readonly number[]): string {
  return textOfBytes(bytes).replaceAll(tokenName, (name) => escapeByte(0x3c) + name.slice(1));
}
