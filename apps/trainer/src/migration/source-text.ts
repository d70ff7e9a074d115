import { stripTypeScriptTypes } from 'node:module';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import type { Node, Property } from 'acorn';
import { parse } from 'acorn';

/** A replaced part of a text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A former name in a source. */
export interface FormerName {
  /** From 1. */
  readonly line: number;
  /** `former → present`. */
  readonly text: string;
}

/** The changes of a source. */
export interface SourceChanges {
  readonly edits: readonly Edit[];
  readonly former: readonly FormerName[];
}

/** Replaces the parts of a text, which do not overlap. */
export function withEdits(source: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((left, right) => right.start - left.start)
    .reduce((changed, { start, end, text: given }) => changed.slice(0, start) + given + changed.slice(end), source);
}

/** The line of a position, from 1. */
export function lineAt(source: string, position: number): number {
  return source.slice(0, position).split('\n').length;
}

/** The syntax tree. Types are replaced by spaces, so that its positions are those of the source. */
export function parseSource(source: string, file: string): Node {
  try {
    const code = /\.[cm]?tsx?$/.test(file) ? stripTypeScriptTypes(source) : source;
    return parse(code, { ecmaVersion: 'latest', sourceType: 'module', allowReturnOutsideFunction: true });
  } catch (cause) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${file} cannot be parsed: ${errorMessage(cause)}`,
      remedy: 'Correct the file, or rename the keys by hand: the error of `agl train` lists them.',
      cause,
    });
  }
}

/** Calls a function with a node and all within it. */
export function visit(node: Node, onNode: (node: Node) => void): void {
  onNode(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === 'object' && child !== null && typeof child.type === 'string') visit(child, onNode);
    }
  }
}

/** The name of a property; null for a computed one. */
export function propertyName({ key, computed }: Property): string | null {
  if (computed) return null;
  if (key.type === 'Identifier') return key.name;
  return key.type === 'Literal' ? String(key.value) : null;
}
