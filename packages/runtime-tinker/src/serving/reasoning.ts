import type { ModelText } from '../text/model-text.ts';

/** Where a response has its reasoning: nowhere, between marks, or from its first token on, because the prompt ends with the first mark. */
export type ReasoningPlace = 'none' | 'marked' | 'open';

/** A response without the marks of its reasoning. */
export interface SplitResponse {
  /** Undefined without reasoning. */
  readonly reasoning?: string;
  readonly content: string;
}

const [opening, closing] = ['<think>', '</think>'] as const;

/** More tokens than the first mark and the line break after it have. */
const markTokens = 16;

/** Where responses to a prompt have their reasoning: a template that knows the marks reads them in earlier messages. */
export function reasoningPlace(text: ModelText, promptTokens: readonly number[]): ReasoningPlace {
  if (!text.template.includes(closing)) return 'none';
  const end = text.decode(promptTokens.slice(-markTokens), { skipSpecialTokens: false });
  return end.trimEnd().endsWith(opening) ? 'open' : 'marked';
}

/** Splits a response. Without the second mark, as in a truncated response, all of it is reasoning. */
export function splitReasoning(text: string, place: ReasoningPlace): SplitResponse {
  const start = place === 'none' ? null : /^\s*<think>/.exec(text);
  if (start === null && place !== 'open') return { content: text };
  const inner = text.slice(start?.[0].length ?? 0);
  const [thought = '', ...rest] = inner.split(closing);
  const reasoning = thought.replace(/^\n+|\n+$/g, '');
  const content = rest.join(closing).replace(/^\n+/, '');
  return { ...(reasoning === '' ? {} : { reasoning }), content };
}

/** As {@link splitReasoning}, for the begin of a response: without the end that may belong to a mark. */
export function splitBegin(text: string, place: ReasoningPlace): SplitResponse {
  if (place !== 'none' && opening.startsWith(text.trimStart())) return { content: '' };
  const split = splitReasoning(text, place);
  const { reasoning, content } = split;
  if (reasoning === undefined || text.includes(closing)) return split;
  const lengths = Array.from(closing, (_, index) => closing.length - index);
  const held = lengths.find((length) => reasoning.endsWith(closing.slice(0, length))) ?? 0;
  return { reasoning: reasoning.slice(0, reasoning.length - held).replace(/\n+$/, ''), content };
}
