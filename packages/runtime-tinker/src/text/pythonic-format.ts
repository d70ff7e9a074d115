import type { CalledTool, ToolFormat } from './tool-format.ts';

/**
 * `[get_weather(city="Kyoto"), now()]` as the whole response: Llama 3.2 and 4, and ToolACE. Arguments are literals with
 * keywords; nothing is executed.
 */
export const pythonicFormat: ToolFormat = {
  name: 'pythonic',
  markers: [],
  openings: ['['],
  isUsedBy: (template) => template.includes('[func_name1(params_name1=params_value1'),
  parse(text) {
    try {
      const calls = new LiteralReader(text.trim()).calls();
      return { content: calls.length > 0 ? '' : text, calls };
    } catch (error) {
      if (error instanceof NotLiteral) return { content: text, calls: [] };
      throw error;
    }
  },
};

/** The text is something else than a list of calls. */
class NotLiteral extends Error {}

type Literal = string | number | boolean | null | readonly Literal[] | { readonly [key: string]: Literal };

const names: Readonly<Record<string, boolean | null>> = { True: true, False: false, None: null };

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '0': '\0',
  '\n': '',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

const escapeSequence = /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])/g;

function unescaped(sequence: string): string {
  const kind = sequence[1] ?? '';
  if (sequence.length === 2) return escapes[kind] ?? sequence;
  const code = Number.parseInt(sequence.slice(2), 16);
  if (code > 0x10_ffff) throw new NotLiteral();
  return String.fromCodePoint(code);
}

/** Nested lists beyond this depth are refused, as Python's parser does. */
const maxDepth = 100;

/** Reads a list of calls in Python's syntax. Every method starts at the current position and throws {@link NotLiteral}. */
class LiteralReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  calls(): readonly CalledTool[] {
    this.#expect('[');
    const found = this.#list(']', () => this.#call());
    this.#skipSpace();
    if (this.#at < this.#text.length) throw new NotLiteral();
    return found;
  }

  #call(): CalledTool {
    const name = this.#match(/[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/y);
    this.#expect('(');
    const given = this.#list(')', () => {
      const keyword = this.#match(/[A-Za-z_]\w*/y);
      this.#expect('=');
      return [keyword, this.#literal()] as const;
    });
    return { name, arguments: JSON.stringify(Object.fromEntries(given)) };
  }

  #literal(): Literal {
    this.#skipSpace();
    const next = this.#text[this.#at] ?? '';
    if (next === '[' || next === '(')
      return this.#nested(() => this.#list(next === '[' ? ']' : ')', () => this.#literal()));
    if (next === '{') {
      const pairs = this.#nested(() =>
        this.#list('}', () => {
          const key = this.#literal();
          this.#expect(':');
          return [typeof key === 'string' ? key : JSON.stringify(key), this.#literal()] as const;
        }),
      );
      return Object.fromEntries(pairs);
    }
    if (next === '"' || next === "'") return this.#strings();
    if (/[\d.+-]/.test(next)) return this.#number();
    const word = this.#match(/[A-Za-z_]\w*/y);
    const value = names[word];
    if (value === undefined) throw new NotLiteral();
    return value;
  }

  #nested<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new NotLiteral();
    this.#at += 1;
    const value = read();
    this.#depth -= 1;
    return value;
  }

  /** Elements separated by commas, up to the closing character; a trailing comma is allowed. */
  #list<T>(close: string, element: () => T): T[] {
    const found: T[] = [];
    for (;;) {
      if (this.#takes(close)) return found;
      found.push(element());
      if (this.#takes(close)) return found;
      this.#expect(',');
    }
  }

  /** Strings in sequence are one string. */
  #strings(): string {
    let joined = '';
    do joined += this.#string();
    while (/["']/.test(this.#text[this.#at] ?? ''));
    return joined;
  }

  #string(): string {
    const written = this.#match(
      /"""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/y,
    );
    const quotes = /^("""|''')/.test(written) ? 3 : 1;
    const value = written.slice(quotes, -quotes).replace(escapeSequence, unescaped);
    this.#skipSpace();
    return value;
  }

  #number(): number {
    const written = this.#match(
      /[+-]?\s*(?:0[xX][\da-fA-F_]+|\d[\d_]*\.(?!\d)|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?)/y,
    );
    const value = Number(written.replaceAll(/[_\s]/g, ''));
    if (Number.isNaN(value)) throw new NotLiteral();
    return value;
  }

  #match(pattern: RegExp): string {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined || found === '') throw new NotLiteral();
    this.#at += found.length;
    return found;
  }

  #expect(character: string): void {
    if (!this.#takes(character)) throw new NotLiteral();
  }

  #takes(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }
}
