import { importedModules } from './find-agent-files.ts';

/** The kind of an exported value, as far as its source shows it. */
export type ExportKind = 'async-function' | 'function' | 'graph' | 'other';

/** A value that a module exports. */
export interface ExportedValue {
  /** `default`, or the name. */
  readonly name: string;
  readonly kind: ExportKind;
}

/** The values that a module exports, in the order of the source, the default export last. Types are excluded. */
export function exportedValues(source: string): readonly ExportedValue[] {
  const hasGraphs = importedModules(source).some((name) => /^(?:@langchain\/langgraph|langchain)\b/.test(name));
  const values = valuesOf(source);
  return hasGraphs ? values : values.map(({ name, kind }) => ({ name, kind: kind === 'graph' ? 'other' : kind }));
}

function valuesOf(source: string): readonly ExportedValue[] {
  const declared = declarations(source);
  const named = declared.filter(({ isExported }) => isExported).map(({ name, kind }) => ({ name, kind }));
  const listed = [...source.matchAll(/^export\s*\{([^}]*)\}\s*;?\s*$/gm)].flatMap(([, names = '']) =>
    names.split(',').flatMap((each) => {
      const [, local, alias] = /^\s*(?!type\s)([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(each) ?? [];
      return local === undefined ? [] : [{ name: alias ?? local, kind: kindOfName(local, declared) }];
    }),
  );
  const start = /^export\s+default\s+/m.exec(source);
  const value = start === null ? null : statementFrom(source, start.index + start[0].length);
  const kind = kindOfValue(value ?? '', declared);
  return [
    ...named,
    ...listed,
    ...commonJsValues(source, declared),
    ...(value === null ? [] : [{ name: 'default', kind }]),
  ];
}

/** The values that a CommonJS module exports: `module.exports = { answer }`, `module.exports = answer`, `exports.answer = …`. */
function commonJsValues(source: string, declared: readonly Declaration[]): readonly ExportedValue[] {
  const assigned = [...source.matchAll(/^(?:module\.)?exports\.([\w$]+)\s*=(?!=)\s*/gm)].map((match) => {
    const value = statementFrom(source, match.index + match[0].length);
    return { name: match[1] ?? '', kind: kindOfValue(value, declared) };
  });
  const start = /^module\.exports\s*=(?!=)\s*/m.exec(source);
  if (start === null) return assigned;
  const value = statementFrom(source, start.index + start[0].length);
  const listed = /^\{([\s\S]*?)\}\s*;?\s*$/.exec(value)?.[1];
  if (listed === undefined) return [...assigned, { name: 'default', kind: kindOfValue(value, declared) }];
  const properties = listed.split(',').flatMap((property) => {
    const [, name, local] = /^\s*([\w$]+)\s*(?::\s*([\w$]+)\s*)?$/.exec(property) ?? [];
    return name === undefined ? [] : [{ name, kind: kindOfName(local ?? name, declared) }];
  });
  return [...assigned, ...properties];
}

function kindOfValue(value: string, declared: readonly Declaration[]): ExportKind {
  const local = /^([\w$]+)\s*;?\s*$/.exec(value)?.[1];
  return local === undefined ? kindOf(value) : kindOfName(local, declared);
}

interface Declaration extends ExportedValue {
  readonly isExported: boolean;
}

/** The functions and constants at the top level of a module. */
function declarations(source: string): readonly Declaration[] {
  const starts = source.matchAll(/^(export\s+)?(?=(?:async\s+)?function\b|const\s)(?:const\s+)?/gm);
  return [...starts].flatMap((start) => {
    const text = statementFrom(source, start.index + start[0].length);
    const isExported = start[1] !== undefined;
    const [, functionName] = /^(?:async\s+)?function\s*\*?\s*([\w$]+)/.exec(text) ?? [];
    if (functionName !== undefined) return [{ name: functionName, kind: kindOf(text), isExported }];
    // The value follows the first `=` that belongs to no arrow of the type.
    const [, name, value = ''] = /^([\w$]+)\b[\s\S]*?(?<![=<>!])=(?![=>])\s*([\s\S]*)$/.exec(text) ?? [];
    return name === undefined ? [] : [{ name, kind: kindOf(value), isExported }];
  });
}

/** The rest of a statement: it ends before the next line that begins with a word or a comment. */
function statementFrom(source: string, start: number): string {
  return source.slice(start).split(/\n(?=[\w$@/])/, 1)[0] ?? '';
}

function kindOf(value: string): ExportKind {
  if (/^async\b/.test(value)) return 'async-function';
  if (/^function\b/.test(value) || (/^(?:<|\(|[\w$]+\s*=>)/.test(value) && value.includes('=>'))) {
    return /^[^{]*\)\s*:\s*Promise\b/.test(value) ? 'async-function' : 'function';
  }
  return /\.compile\(|^(?:await\s+)?create(?:React)?Agent\(/.test(value) ? 'graph' : 'other';
}

function kindOfName(name: string, declared: readonly Declaration[]): ExportKind {
  return declared.find((each) => each.name === name)?.kind ?? 'other';
}

const kindOrder: readonly ExportKind[] = ['async-function', 'graph', 'function', 'other'];

/**
 * The exported value that most likely runs the agent: a function or graph named `agent`, then an async function, a compiled graph and
 * another function; the first of equal ones. Functions beside a graph that are not async are usually its conditions.
 */
export function agentAmong(values: readonly ExportedValue[]): ExportedValue | null {
  const rank = ({ name, kind }: ExportedValue): number =>
    name === 'agent' && kind !== 'other' ? -1 : kindOrder.indexOf(kind);
  return [...values].sort((one, other) => rank(one) - rank(other))[0] ?? null;
}
