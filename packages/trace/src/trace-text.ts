import { stepFacts } from './step-facts.ts';
import { terminalText } from './terminal-text.ts';
import type { TraceStep } from './trace-step.ts';

/** How to draw a trace as text. */
export interface TraceTextOptions {
  /** How wide a line may be, in characters; longer ones are cut with an ellipsis. @default Infinity */
  readonly width?: number;
  /** Colours for terminals. @default false */
  readonly isColoured?: boolean;
}

/**
 * Draws a trace as a tree of lines, one a step: its number, name, what it took and what came of it. Nothing in a trace can
 * command the terminal it is shown on: see {@link terminalText}.
 *
 * @example
 * ```ts
 * const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
 * console.log(traceText(traceSteps(items)));
 * ```
 */
export function traceText(steps: readonly TraceStep[], options: TraceTextOptions = {}): string {
  return lines(steps, '', options).join('\n');
}

function lines(steps: readonly TraceStep[], indent: string, options: TraceTextOptions): readonly string[] {
  return steps.flatMap((step, index) => {
    const isLast = index === steps.length - 1;
    const head = cut(`${indent}${isLast ? '└─' : '├─'} ${stepLine(step)}`, options.width ?? Number.POSITIVE_INFINITY);
    const line = options.isColoured === true ? coloured(head, step) : head;
    return [line, ...lines(step.children, `${indent}${isLast ? '   ' : '│  '}`, options)];
  });
}

function stepLine(step: TraceStep): string {
  const facts = stepFacts(step).map(({ text }) => text);
  return [`#${step.sequenceId}`, `${words[step.kind]}${step.title}`, ...facts].join('  ');
}

/** What is said before a step's title; steps whose title says it all have nothing. */
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
