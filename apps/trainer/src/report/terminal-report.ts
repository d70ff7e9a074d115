import { styleText } from 'node:util';
import type { StepSummary, TrainingEvent } from '../training-event.ts';
import { bar } from './bar.ts';
import { shortDuration } from './number-text.ts';
import { plainLine } from './plain-report.ts';
import type { Report } from './report.ts';

/** Where a terminal report is drawn. */
export interface TerminalOutput {
  readonly columns?: number;
  write(text: string): unknown;
}

type RolloutProgress = Extract<TrainingEvent, { type: 'rollout-finished' }>;

/** Columns that stay free at the end of the live line, for the `^C` of somebody who stops the run. */
const marginColumns = 3;

const eraseLine = '\r\u001b[2K';

/** What the live line shows. */
interface LiveState {
  readonly last: StepSummary | null;
  /** Steps in all; null until it is known. */
  readonly steps: number | null;
  /** What is under way: `rollouts 12/128`. */
  readonly doing: string;
  /** The part of the run that is done, from 0 to 1. */
  readonly share: number;
}

/**
 * Draws a live line with a bar: step, reward, entropy, tokens a second, time left. What stays (the
 * evaluations, warnings) scrolls above it.
 */
export function terminalReport(output: TerminalOutput): Report {
  let live: LiveState = { last: null, steps: null, doing: '', share: 0 };
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
        draw({ doing: doingText(event), share: shareOf(event, live) });
        break;
      case 'stepped': {
        const { step, steps } = event.summary;
        draw({ last: event.summary, share: step / steps, doing: '' });
        break;
      }
      case 'search-progress':
        draw({ doing: searchText(event), share: spentShare(event) });
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

function doingText({ phase, finished, total }: RolloutProgress): string {
  return phase === 'step' && finished === total ? 'learning' : `${phaseTexts[phase]} ${finished}/${total}`;
}

type SearchProgressEvent = Extract<TrainingEvent, { type: 'search-progress' }>;

function searchText({ rollouts, running, maxRollouts, optimizerCalls, bestScore }: SearchProgressEvent): string {
  const best = bestScore === null ? '' : `best ${bestScore.toFixed(2)}  `;
  const limit = maxRollouts === null ? '' : `/${maxRollouts}`;
  return `${best}asked ${optimizerCalls}  running ${running}  rollouts ${rollouts}${limit}`;
}

/** The budget that is used up first says how far the search is. */
function spentShare({ rollouts, maxRollouts, optimizerCalls, maxOptimizerCalls }: SearchProgressEvent): number {
  return Math.max(rollouts / (maxRollouts ?? Infinity), optimizerCalls / (maxOptimizerCalls ?? Infinity));
}

const phaseTexts = { step: 'rollouts', before: 'held-out', during: 'held-out', after: 'held-out' } as const;

function shareOf(event: RolloutProgress, { steps, share }: LiveState): number {
  if (event.phase === 'after') return 1;
  if (event.phase !== 'step' || steps === null || steps === 0) return share;
  return (event.step - 1 + event.finished / event.total) / steps;
}

/** The bar gets what the facts leave; where that is little, what is under way is said without words. */
function liveLine({ last, doing, share }: LiveState, width: number): string {
  const full = [...factsOf(last), doing].filter((text) => text !== '').join('  ');
  const isTight = full.length + minBarWidth + 2 > width;
  const texts = isTight ? full.replace(doing, doing.slice(doing.lastIndexOf(' ') + 1)) : full;
  const barWidth = Math.min(20, Math.max(minBarWidth, width - texts.length - 2));
  return cutTo(`${bar(share, barWidth)}  ${texts}`, width);
}

/** In characters. */
const minBarWidth = 4;

function factsOf(last: StepSummary | null): readonly string[] {
  if (last === null) return [];
  return [
    `step ${last.step}/${last.steps}`,
    `reward ${last.reward.toFixed(2)}`,
    `entropy ${last.entropy === null ? '-' : last.entropy.toFixed(2)}`,
    `${Math.round(last.tokensPerSecond)} tok/s`,
    `${shortDuration(last.secondsLeft)} left`,
  ];
}

function cutTo(text: string, width: number): string {
  return text.length <= width ? text : text.slice(0, Math.max(0, width));
}
