import type { KeyValueCache } from './key-value-cache.ts';

/** The longest cached prefix of a sequence. */
export interface PrefixMatch {
  /** Has the keys and values of the matched tokens, and possibly more. */
  readonly source: KeyValueCache;
  /** Number of matching tokens, at least 1. */
  readonly length: number;
}

interface Node {
  /** The tokens between the parent and this node. */
  edge: readonly number[];
  /** A sequence that starts with all tokens from the root to this node. */
  source: KeyValueCache;
  children: Map<number, Node>;
}

interface Generation {
  readonly children: Map<number, Node>;
  /** The cached sequences, with the number of counted tokens of each. */
  readonly sources: Map<KeyValueCache, number>;
  tokens: number;
}

/**
 * Finds the sequence with the longest prefix in common with a prompt: a radix tree over token ids. A cache serves one
 * version of the weights. It has two generations: when the younger is full, the older is evicted, so entries in use
 * stay and memory is bounded.
 */
export class PrefixCache {
  readonly #maxTokens: number;
  #young: Generation = emptyGeneration();
  #old: Generation = emptyGeneration();

  /** @param maxTokens Maximum tokens of one generation; there are at most two. */
  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  /** The longest cached prefix of `tokens`, if any. */
  find(tokens: readonly number[]): PrefixMatch | undefined {
    const young = longestMatch(this.#young.children, tokens);
    const old = longestMatch(this.#old.children, tokens);
    return (old?.length ?? 0) > (young?.length ?? 0) ? old : young;
  }

  /** Records that `source` has the keys and values of `tokens`. */
  insert(tokens: readonly number[], source: KeyValueCache): void {
    // A sequence is added twice, with its prompt and with its response: only the growth counts.
    if (this.#young.tokens + this.#growth(tokens, source) > this.#maxTokens) {
      this.#old = this.#young;
      this.#young = emptyGeneration();
    }
    this.#young.tokens += this.#growth(tokens, source);
    this.#young.sources.set(source, Math.max(tokens.length, this.#young.sources.get(source) ?? 0));
    insertInto(this.#young.children, tokens, source);
  }

  /** Tokens of a sequence not yet counted in the younger generation. */
  #growth(tokens: readonly number[], source: KeyValueCache): number {
    return Math.max(0, tokens.length - (this.#young.sources.get(source) ?? 0));
  }
}

function emptyGeneration(): Generation {
  return { children: new Map(), sources: new Map(), tokens: 0 };
}

function sharedLength(edge: readonly number[], tokens: readonly number[], from: number): number {
  const limit = Math.min(edge.length, tokens.length - from);
  let length = 0;
  while (length < limit && edge[length] === tokens[from + length]) length += 1;
  return length;
}

function longestMatch(roots: Map<number, Node>, tokens: readonly number[]): PrefixMatch | undefined {
  let children = roots;
  let match: PrefixMatch | undefined;
  let depth = 0;
  while (depth < tokens.length) {
    const node = children.get(tokens[depth] as number);
    if (node === undefined) break;
    const shared = sharedLength(node.edge, tokens, depth);
    depth += shared;
    match = { source: node.source, length: depth };
    if (shared < node.edge.length) break;
    children = node.children;
  }
  return match;
}

function insertInto(roots: Map<number, Node>, tokens: readonly number[], source: KeyValueCache): void {
  let children = roots;
  let depth = 0;
  while (depth < tokens.length) {
    const first = tokens[depth] as number;
    const node = children.get(first);
    if (node === undefined) {
      children.set(first, { edge: tokens.slice(depth), source, children: new Map() });
      return;
    }
    const shared = sharedLength(node.edge, tokens, depth);
    if (shared < node.edge.length) splitEdge(node, shared);
    depth += shared;
    children = node.children;
  }
}

function splitEdge(node: Node, at: number): void {
  const rest: Node = { edge: node.edge.slice(at), source: node.source, children: node.children };
  node.edge = node.edge.slice(0, at);
  node.children = new Map([[rest.edge[0] as number, rest]]);
}
