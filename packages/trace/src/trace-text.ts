import { stepFacts } from './step-facts.ts';
import { terminalText } from './terminal-text.ts';
import type { TraceStep } from './trace-step.ts';
import { walkSteps } from './walk-steps.ts';

/** Options of a trace as text. */
export interface TraceTextOptions {
  /** How wide a line may be, in characters; longer ones are cut with an ellipsis. @default Infinity */
  readonly width?: number;
  /** Colours for terminals. @default false */
  readonly isColoured?: boolean;
}

/**
 * Draws a trace as a tree of lines, one per step: its number, name, input and outcome. Nothing in a trace can command the
 * terminal it is shown on: see {@link terminalText}.
 *
 * @example
 * ```ts
 * const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
 * console.log(traceText(traceSteps(items)));
 * ```
 */
export function traceText(steps: readonly TraceStep[], options: TraceTextOptions = {}): string {
  const { width = Number.POSITIVE_INFINITY, isColoured = false } = options;
  const rails: string[] = [];
  const lines = walkSteps(steps).map(({ step, depth, isLast }) => {
    if (depth < maxIndent) rails[depth] = isLast ? '   ' : '│  ';
    const indent = rails.slice(0, Math.min(depth, maxIndent)).join('');
    const level = depth > maxIndent ? `⋯${depth} ` : '';
    const line = cut(`${indent}${level}${isLast ? '└─' : '├─'} ${stepLine(step)}`, width);
    return isColoured ? coloured(line, step) : line;
  });
  return lines.join('\n');
}

/** Levels that are indented. Deeper steps have the number of their level instead, which bounds the length of a line. */
const maxIndent = 32;

function stepLine(step: TraceStep): string {
  const facts = stepFacts(step).map(({ text }) => text);
  return [`#${step.sequenceId}`, `${words[step.kind]}${step.title}`, ...facts].join('  ');
}

/** Label before a step's title; empty for self-explanatory titles. */
const words: Readonly<Record<TraceStep['kind'], string>> = {
  rollout: '',
  agent: 'agent ',
  step: '',
  'model-call': 'model ',
  'tool-call': 'tool ',
  'hand-off': 'hand-off ',
  guardrail: 'guardrail ',
  embedding: 'embedding ',
  retrieval: 'retrieval ',
  reward: '',
  message: '',
  annotation: '',
  exception: '',
  operation: '',
};

function cut(line: string, width: number): string {
  const plain = terminalText(line.replace(/\s+/g, (space) => (/[^ ]/.test(space) ? ' ' : space)));
  const characters = [...plain];
  return characters.length <= width ? plain : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

const controlSequence = '\u001b[';

function coloured(line: string, step: TraceStep): string {
  const code = step.outcome === 'error' ? '31' : colours[step.kind];
  return code === undefined ? line : `${controlSequence}${code}m${line}${controlSequence}0m`;
}

const colours: Readonly<Partial<Record<TraceStep['kind'], string>>> = {
  agent: '1',
  'model-call': '36',
  'tool-call': '33',
  'hand-off': '35',
  reward: '32',
  rollout: '1',
};
