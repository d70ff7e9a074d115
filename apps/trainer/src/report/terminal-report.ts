import { styleText } from 'node:util';
import type { StepSummary, TrainingEvent, TrainingListener } from '../training-event.ts';
import { shortDuration } from './number-text.ts';
import { plainLine } from './plain-report.ts';

/** Where a terminal report is drawn. */
export interface TerminalOutput {
  readonly columns?: number;
  write(text: string): unknown;
}

const eraseLine = '\r\u001b[2K';

/**
 * Draws a live line with a bar: step, reward, entropy, tokens a second, time left. What stays (the
 * evaluations, warnings) scrolls above it.
 */
export function terminalReport(output: TerminalOutput): TrainingListener {
  let last: StepSummary | null = null;
  let doing = '';
  let share = 0;
  const draw = (): void => {
    const width = output.columns ?? 80;
    output.write(eraseLine + cutTo(liveLine({ last, doing, share }), width - 1));
  };
  const scroll = (text: string): void => {
    output.write(`${eraseLine}${text}\n`);
  };
  return (event) => {
    switch (event.type) {
      case 'rollout-finished':
        doing = `${phaseText(event.phase)} ${event.finished}/${event.total}`;
        share = progressShare(event, last);
        draw();
        return;
      case 'stepped':
        last = event.summary;
        share = last.step / last.steps;
        doing = 'learning';
        draw();
        return;
      case 'finished':
        output.write(eraseLine);
        return;
      case 'checkpointed':
        return;
      default:
        scroll(highlighted(event));
    }
  };
}

function highlighted(event: TrainingEvent): string {
  const line = plainLine(event) ?? '';
  if (event.type === 'warning') return styleText('yellow', line);
  return event.type === 'started' ? styleText('bold', line) : line;
}

function phaseText(phase: string): string {
  if (phase === 'before' || phase === 'after') return `held-out ${phase}`;
  return phase.startsWith('during') ? 'held-out' : 'rollouts';
}

function progressShare(event: Extract<TrainingEvent, { type: 'rollout-finished' }>, last: StepSummary | null): number {
  if (!event.phase.startsWith('step-')) return event.phase === 'after' ? 1 : 0;
  const steps = last?.steps ?? 0;
  return steps === 0 ? 0 : ((last?.step ?? 0) + event.finished / event.total) / steps;
}

function liveLine(state: {
  readonly last: StepSummary | null;
  readonly doing: string;
  readonly share: number;
}): string {
  const { last, doing, share } = state;
  const facts =
    last === null
      ? []
      : [
          `step ${last.step}/${last.steps}`,
          `reward ${last.reward.toFixed(2)}`,
          `entropy ${last.entropy.toFixed(2)}`,
          `${Math.round(last.tokensPerSecond)} tok/s`,
          `${shortDuration(last.secondsLeft)} left`,
        ];
  return [bar(share, 20), ...facts, doing].join('  ');
}

/** A bar of whole and part blocks, `width` characters wide. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const parts = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
  const filled = '█'.repeat(Math.floor(eighths / 8)) + (parts[eighths % 8] ?? '');
  return filled.padEnd(width, '░');
}

function cutTo(text: string, width: number): string {
  return text.length <= width ? text : text.slice(0, Math.max(0, width));
}
