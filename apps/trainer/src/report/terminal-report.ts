import { styleText } from 'node:util';
import type { StepSummary, TrainingEvent } from '@agentlightning/core/protocol';
import { learnedText, plainLine } from './plain-report.ts';
import type { Report } from './report.ts';
import { bar, costText, shortDuration } from './text-formats.ts';

/** The terminal that a report is drawn on. */
export interface TerminalOutput {
  readonly columns?: number;
  write(text: string): unknown;
}

type RolloutProgress = Extract<TrainingEvent, { type: 'rollout-finished' }>;

/** Free columns at the end of the live line, for the `^C` that the terminal prints on an interrupt. */
const marginColumns = 3;

const eraseLine = '\r\u001b[2K';

/** The content of the live line. */
interface LiveState {
  readonly last: StepSummary | null;
  /** The total number of steps; null until it is known. */
  readonly steps: number | null;
  /** The current activity: `rollouts 12/128`. */
  readonly activity: string;
  /** The finished part of the run, from 0 to 1. */
  readonly share: number;
}

/**
 * Draws a live line with a progress bar, step, reward, entropy, tokens per second and remaining time. Permanent output, such
 * as evaluations and warnings, scrolls above it.
 */
export function terminalReport(output: TerminalOutput): Report {
  let live: LiveState = { last: null, steps: null, activity: '', share: 0 };
  let isDrawn = false;
  const draw = (change: Partial<LiveState>): void => {
    live = { ...live, ...change };
    isDrawn = true;
    output.write(eraseLine + liveLine(live, (output.columns ?? 80) - marginColumns));
  };
  const erase = (): void => {
    if (isDrawn) output.write(eraseLine);
    isDrawn = false;
  };
  const scroll = (text: string): void => {
    const isLive = isDrawn;
    erase();
    output.write(text.endsWith('\n') ? text : `${text}\n`);
    if (isLive) draw({});
  };
  const onEvent = (event: TrainingEvent): void => {
    switch (event.type) {
      case 'rollout-finished':
        draw({ activity: activityText(event), share: shareOf(event, live) });
        break;
      case 'stepped': {
        const { step, steps } = event.summary;
        draw({ last: event.summary, share: step / steps, activity: '' });
        break;
      }
      case 'search-progress':
        draw({ activity: searchText(event), share: spentShare(event) });
        break;
      case 'finished':
        erase();
        break;
      case 'checkpointed':
        break;
      case 'started':
        live = { ...live, steps: event.steps, share: event.steps === 0 ? 0 : (event.firstStep - 1) / event.steps };
        scroll(highlighted(event));
        break;
      default:
        scroll(highlighted(event));
    }
  };
  return { onEvent, print: scroll, close: erase };
}

function highlighted(event: TrainingEvent): string {
  const line = plainLine(event) ?? '';
  if (event.type === 'warning') return styleText('yellow', line);
  return event.type === 'started' ? styleText('bold', line) : line;
}

function activityText({ phase, finished, total }: RolloutProgress): string {
  return phase === 'step' && finished === total ? 'learning' : `${phaseTexts[phase]} ${finished}/${total}`;
}

type SearchProgressEvent = Extract<TrainingEvent, { type: 'search-progress' }>;

function searchText(event: SearchProgressEvent): string {
  const { rollouts, running, maxRollouts, optimizerCalls, bestScore, waitingSeconds } = event;
  if (waitingSeconds !== undefined) return `requests ${optimizerCalls}  no reply for ${waitingSeconds} s`;
  const best = bestScore === null ? '' : `best ${bestScore.toFixed(2)}  `;
  const limit = maxRollouts === null ? '' : `/${maxRollouts}`;
  return `${best}requests ${optimizerCalls}  running ${running}  rollouts ${rollouts}${limit}`;
}

/** The progress of a search: the largest used part of its limits. */
function spentShare({ rollouts, maxRollouts, optimizerCalls, maxOptimizerCalls }: SearchProgressEvent): number {
  return Math.max(rollouts / (maxRollouts ?? Infinity), optimizerCalls / (maxOptimizerCalls ?? Infinity));
}

const phaseTexts = { step: 'rollouts', before: 'held-out', during: 'evaluation', after: 'held-out' } as const;

function shareOf(event: RolloutProgress, { steps, share }: LiveState): number {
  if (event.phase === 'after') return 1;
  if (event.phase !== 'step' || steps === null || steps === 0) return share;
  return (event.step - 1 + event.finished / event.total) / steps;
}

/** The bar fills the width that the texts leave. In a narrow terminal, the activity is reduced to its numbers. */
function liveLine({ last, activity, share }: LiveState, width: number): string {
  const full = [...metricTexts(last), activity].filter((text) => text !== '').join('  ');
  const isTight = full.length + minBarWidth + 2 > width;
  const texts = isTight ? full.replace(activity, activity.slice(activity.lastIndexOf(' ') + 1)) : full;
  const barWidth = Math.min(20, Math.max(minBarWidth, width - texts.length - 2));
  return truncate(`${bar(share, barWidth)}  ${texts}`, width);
}

/** In characters. */
const minBarWidth = 4;

function metricTexts(last: StepSummary | null): readonly string[] {
  if (last === null) return [];
  return [
    `step ${last.step}/${last.steps}`,
    learnedText(last, 2),
    `entropy ${last.entropy === null ? '-' : last.entropy.toFixed(2)}`,
    `${Math.round(last.tokensPerSecond)} tok/s`,
    `${shortDuration(last.secondsLeft)} left${costText(last.metrics)}`,
  ];
}

function truncate(text: string, width: number): string {
  return text.length <= width ? text : text.slice(0, Math.max(0, width));
}
