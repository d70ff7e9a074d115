/**
 * Rollouts are found by text through an index of their distinct words, which this code makes for both databases, so their
 * results are equal: `to_tsvector` and the tokenizers of FTS5 split words differently. There are no phrases, stemming or
 * ranking; a trigram index would find substrings and be several times larger. Only finished rollouts are indexed, since their
 * text is complete, in batches in the background: the cost for ingest is bounded, where indexing each span would cost a quarter
 * of it and parse every request of a conversation again. Right after a large import a search is incomplete, and its result
 * contains the number of rollouts that are left.
 *
 * @module
 */
import type { JsonValue, Span } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { spanNames } from '@agentlightning/core/spans';
import type { RolloutTrace } from '@agentlightning/core/store';
import { wordsOf } from './search-words.ts';

/** Maximum bytes of the distinct words of a rollout: a `tsvector` of PostgreSQL holds 1 MiB. */
const maxWordBytes = 200_000;
/** Maximum characters of one text, after embedded files are left out. */
const maxTextLength = 2 ** 18;
/** Maximum depth of nested JSON, including JSON in strings. */
const maxDepth = 32;

/** Attributes without text for people. */
const skippedAttributes: ReadonlySet<string> = new Set([
  modelCallAttributes.responseTokens,
  modelCallAttributes.choices,
  modelCallAttributes.untrainableReason,
]);

/** The name of an attribute that holds an identifier. */
const identifier = /(?:^|[._])ids?$/;

/** Embedded files, such as images of messages. */
const dataUrl = /data:[\w.+/-]*;base64,[A-Za-z0-9+/=]*/g;

/** The latest attempt of a rollout. */
type RolloutText = Pick<RolloutTrace, 'attempt' | 'spans'>;

/**
 * The distinct words of a rollout: of its task input, the metadata of its latest attempt, which has its failure, and the
 * messages, tool calls, outputs and errors in its spans. Names of JSON fields, identifiers and arrays of numbers are left out.
 */
export function rolloutWords(input: JsonValue, { attempt, spans }: RolloutText): readonly string[] {
  const collected = new WordCollector();
  collected.addValue(input, 0);
  collected.addValue(attempt?.metadata, 0);
  for (const span of spans) collected.addSpan(span);
  return collected.words();
}

/** Collects the distinct words of a rollout. */
export class WordCollector {
  readonly #words: Set<string> = new Set();
  /** Texts that occur again: every request of a conversation repeats its messages. */
  readonly #texts = new Set<string>();
  #bytes = 0;

  /** Whether it has the most words of a rollout. */
  get isFull(): boolean {
    return this.#bytes >= maxWordBytes;
  }

  words(): readonly string[] {
    return [...this.#words];
  }

  addSpan({ name, status, attributes, events }: Span): void {
    if (name === spanNames.training) return;
    this.addText(name, maxDepth);
    if (status.message !== null) this.addText(status.message, maxDepth);
    for (const each of [attributes, ...events.map((event) => event.attributes)]) {
      for (const [key, value] of Object.entries(each)) {
        if (!skippedAttributes.has(key) && !identifier.test(key)) this.addValue(value, 0);
      }
    }
  }

  addValue(value: unknown, depth: number): void {
    if (depth > maxDepth || this.isFull) return;
    if (typeof value === 'string') this.addText(value, depth);
    else if (typeof value === 'number') this.addText(String(value), maxDepth);
    else if (typeof value === 'object' && value !== null) {
      // Token ids and embeddings.
      if (Array.isArray(value) && value.length > 1 && typeof value[0] === 'number') return;
      for (const each of Object.values(value)) this.addValue(each, depth + 1);
    }
  }

  addText(text: string, depth: number): void {
    if (this.isFull || this.#texts.has(text)) return;
    this.#texts.add(text);
    const nested = depth < maxDepth ? parsedJson(text) : null;
    if (nested !== null) {
      this.addValue(nested, depth + 1);
      return;
    }
    for (const word of wordsOf(text.replace(dataUrl, ' ').slice(0, maxTextLength))) {
      if (this.#words.has(word)) continue;
      this.#bytes += Buffer.byteLength(word);
      if (this.isFull) return;
      this.#words.add(word);
    }
  }
}

/** The object or array that a text holds as JSON; null for other text. */
function parsedJson(text: string): unknown {
  const isJson = /^\s*[[{]/.test(text) && /[\]}]\s*$/.test(text);
  if (!isJson) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
