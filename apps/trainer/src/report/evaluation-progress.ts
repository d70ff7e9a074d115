import { styleText } from 'node:util';
import { withoutPasswords } from '@agentlightning/core/internal';
import type { EvaluationEvent, EvaluationListener } from '../evaluation-run/evaluation-event.ts';
import { bar } from './text-formats.ts';

/** Shows the progress of an evaluation. */
export interface EvaluationProgress {
  readonly onEvent: EvaluationListener;
  /** Shows console output of the agent. */
  readonly print: (text: string) => void;
  /** Removes the progress line, before other output. */
  readonly close: () => void;
  /** The id of the run; null before it has started. */
  readonly runId: () => string | null;
}

/** Output of progress: text, with a live line on a terminal, or JSON lines. */
export type ProgressOutput =
  | { readonly type: 'text'; readonly output: { readonly isTTY?: boolean; write(text: string): unknown } }
  | { readonly type: 'json'; readonly write: (text: string) => void };

/** Shows the events of an evaluation as they occur; the result is not part of them. */
export function evaluationProgress(target: ProgressOutput): EvaluationProgress {
  let runId: string | null = null;
  const show = target.type === 'json' ? jsonOutput(target.write) : textOutput(target.output);
  const onEvent = (event: EvaluationEvent): void => {
    if (event.type === 'started') ({ runId } = event);
    show.onEvent(event);
  };
  return { ...show, onEvent, runId: () => runId };
}

type Output = Omit<EvaluationProgress, 'runId'>;

const eraseLine = '\r\u001b[2K';

const barWidth = 20;

function textOutput(output: Extract<ProgressOutput, { readonly type: 'text' }>['output']): Output {
  const isLive = output.isTTY === true;
  let live = '';
  const erase = (): void => {
    if (live !== '') output.write(eraseLine);
  };
  const print = (text: string): void => {
    erase();
    output.write(text.endsWith('\n') ? text : `${text}\n`);
    output.write(live);
  };
  const onEvent = (event: EvaluationEvent): void => {
    if (event.type === 'rollout-finished') {
      if (!isLive) return;
      erase();
      live = `${bar(event.finished / event.total, barWidth)}  ${event.subject}  rollouts ${event.finished}/${event.total}`;
      output.write(live);
      return;
    }
    const line = lineOf(event);
    if (line !== null) print(event.type === 'warning' && isLive ? styleText('yellow', line) : line);
  };
  const close = (): void => {
    erase();
    live = '';
  };
  return { onEvent, print, close };
}

function lineOf(event: EvaluationEvent): string | null {
  switch (event.type) {
    case 'started':
      return `Run ${event.runId}: "${event.name}", ${countOf(event.tasks, 'task')}, ${countOf(event.samples, 'sample')} each; ${event.subjects.join(' against ')}`;
    case 'warning':
      return `warning: ${withoutPasswords(event.message)}`;
    case 'agent-output':
      return event.line;
    case 'runners':
      return `${countOf(event.runners, 'remote runner')}`;
    case 'rollout-finished':
    case 'evaluated':
    case 'finished':
      return null;
  }
}

function jsonOutput(write: (text: string) => void): Output {
  const print = (text: string): void => void process.stderr.write(text);
  const onEvent = (event: EvaluationEvent): void => {
    switch (event.type) {
      case 'agent-output':
        print(`${event.line}\n`);
        return;
      case 'rollout-finished':
      case 'finished':
        return;
      default:
        write(`${JSON.stringify(event)}\n`);
    }
  };
  return { onEvent, print, close: () => undefined };
}

/** A number with its noun: `1 task`, `2 tasks`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
