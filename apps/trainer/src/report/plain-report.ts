import { quantityText } from '@agentlightning/core/internal';
import type {
  EvaluationSummary,
  NothingLeftEvent,
  SearchStart,
  StepSummary,
  TrainingEvent,
} from '@agentlightning/core/protocol';
import { imitationLoss } from '../evaluation/reward-metrics.ts';
import { kindText } from '../prompt-search/prompt-diff.ts';
import type { Report } from './report.ts';
import { terminalText } from './terminal-text.ts';
import { costText, percent, shortDuration } from './text-formats.ts';

/** Number of requests to the optimiser model after which a log has another line. */
const requestsPerLine = 10;

type SearchProgressEvent = Extract<TrainingEvent, { type: 'search-progress' }>;

function searchProgressLine(event: SearchProgressEvent): string {
  const { optimizerCalls, maxOptimizerCalls, rollouts, bestScore, waitingSeconds } = event;
  const waiting = waitingSeconds === undefined ? '' : `, no reply of the optimiser model for ${waitingSeconds} s`;
  const limit = maxOptimizerCalls === null ? '' : ` of at most ${maxOptimizerCalls}`;
  const best = bestScore === null ? '' : `, best ${bestScore.toFixed(3)}`;
  return `${quantityText(optimizerCalls, 'optimiser request')}${limit}, ${quantityText(rollouts, 'rollout')}${best}${waiting}`;
}

/** Writes plain lines, one per step: for logs and pipes. */
export function plainReport(write: (line: string) => void): Report {
  let reported = 0;
  const isDue = ({ optimizerCalls, waitingSeconds }: SearchProgressEvent): boolean =>
    optimizerCalls >= reported + requestsPerLine || waitingSeconds !== undefined;
  return {
    onEvent: (event) => {
      if (event.type === 'search-progress' && isDue(event)) {
        reported = event.optimizerCalls;
        write(`${searchProgressLine(event)}\n`);
      }
      const line = plainLine(event);
      if (line !== null) write(`${line}\n`);
    },
    print: write,
    close: () => undefined,
  };
}

/** An event as a line of text; null for events that only update a progress bar. */
export function plainLine(event: TrainingEvent): string | null {
  switch (event.type) {
    case 'started':
      return event.search === undefined ? startedLine(event) : searchLine(event, event.search);
    case 'evaluated': {
      const { reward, ci95, rollouts } = event.summary;
      const failures = exceptionsText(event.summary);
      const when = event.phase === 'during' ? `at step ${event.step}` : `${event.phase} training`;
      const what = event.tasks === 'validation' ? 'Validation' : 'Held-out';
      return `${what} reward ${when}: ${reward.toFixed(3)} (95% ${ci95[0].toFixed(3)} to ${ci95[1].toFixed(3)}, ${quantityText(rollouts, 'rollout')}${failures})`;
    }
    case 'stepped': {
      const { step, steps, entropy, tokensPerSecond, secondsLeft } = event.summary;
      const entropyText = entropy === null ? '' : `entropy ${entropy.toFixed(3)}  `;
      const training =
        tokensPerSecond === 0
          ? 'no update: no token has an advantage'
          : `${entropyText}${Math.round(tokensPerSecond)} tokens/s`;
      return `step ${step}/${steps} (${percent(step / steps)})  ${learnedText(event.summary, 3)}  ${training}${costText(event.summary.metrics)}  ${shortDuration(secondsLeft)} left`;
    }
    case 'prompts-judged':
      return promptsLine(event);
    case 'nothing-left':
      return `Run ${event.runId} has nothing left to do: ${nothingLeftText(event)}`;
    case 'warning':
      return `warning: ${terminalText(event.message)}`;
    case 'fine-tuning':
      return `Fine-tuning${event.jobId === null ? '' : ` ${event.jobId}`}: ${terminalText(event.message)}`;
    case 'runners':
      return `Runners: ${event.runners}`;
    case 'agent-output':
      return terminalText(event.line);
    case 'checkpointed':
    case 'rollout-finished':
    case 'search-progress':
    case 'finished':
      return null;
  }
}

/** The reward of a step; of demonstrations, whose rewards are all equal, the loss. */
export function learnedText({ reward, metrics }: Pick<StepSummary, 'reward' | 'metrics'>, digits: number): string {
  const loss = imitationLoss(metrics);
  return loss === null ? `reward ${reward.toFixed(digits)}` : `loss ${loss.toFixed(digits)}`;
}

/** The rollouts of an evaluation that failed or are excluded: `, 2 failed, 1 missing`. */
export function exceptionsText({ failed, missing }: Pick<EvaluationSummary, 'failed' | 'missing'>): string {
  return `${failed === 0 ? '' : `, ${failed} failed`}${missing === 0 ? '' : `, ${missing} missing`}`;
}

function nothingLeftText({ reason, finishedStep, steps }: NothingLeftEvent): string {
  switch (reason) {
    case 'steps': {
      const configured = steps < finishedStep ? `, configured are ${steps}` : '';
      return `it has finished ${countOf(finishedStep, 'step')}${configured}. Increase \`steps\` to continue.`;
    }
    case 'goal':
      return (
        `it reached its goal at step ${finishedStep}. Increase or remove \`stop.reward\`` +
        (finishedStep < steps ? ` to continue to step ${steps}.` : ', and increase `steps` to continue.')
      );
    case 'warning':
      return `a warning of \`stop.warnings\` ended it at step ${finishedStep}. Remove the warning from the list to continue.`;
    case 'patience':
      return `the reward of its evaluations had stopped rising at step ${finishedStep}. Raise or remove \`stop.patience\` to continue.`;
    case 'limits':
      return 'the search has ended. Change its limits to continue.';
  }
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

type StartedEvent = Extract<TrainingEvent, { type: 'started' }>;

function startedLine(event: StartedEvent): string {
  const stage = event.stage === undefined ? '' : `stage ${event.stage.number} of ${event.stage.of}, `;
  return (
    `Run ${event.runId}: ${stage}${event.algorithm} on "${event.name}", ${event.trainTasks} training tasks, ` +
    `${event.heldOutTasks} held out, ${event.device}` +
    (event.firstStep > 1 ? `, ${stage === '' ? 'resuming at' : 'from'} step ${event.firstStep}` : '')
  );
}

function searchLine(event: StartedEvent, search: SearchStart): string {
  const { validationTasks, prompts, kinds = {}, optimizer, maxRollouts, maxOptimizerCalls, versions } = search;
  const named = prompts.map((name) => `${name}${kindText(kinds[name])}`);
  const limits = [
    ...(maxRollouts === null ? [] : [quantityText(maxRollouts, 'rollout')]),
    ...(maxOptimizerCalls === null || optimizer === null ? [] : [quantityText(maxOptimizerCalls, 'optimiser request')]),
  ];
  return (
    `Run ${event.runId}: ${event.algorithm} on "${event.name}", prompts ${named.join(', ')}; ${quantityText(event.trainTasks, 'training task')}, ` +
    `${quantityText(validationTasks, 'validation task')}, ${event.heldOutTasks} held out; agent on ${event.model}${optimizer === null ? '' : `, optimiser ${optimizer}`}` +
    (limits.length === 0 ? '' : `; at most ${limits.join(' and ')}`) +
    (versions > 0 ? `; resuming with ${quantityText(versions, 'version')}` : '')
  );
}

function promptsLine(event: Extract<TrainingEvent, { type: 'prompts-judged' }>): string {
  const { version, score, scoredTasks, parents, bestScore } = event;
  const text = score === null ? 'not judged' : `score ${score.toFixed(3)} on ${quantityText(scoredTasks, 'task')}`;
  const origin = parents.length === 0 ? 'initial' : `from ${parents.join(' and ')}`;
  return `prompts ${version}  ${text}  ${origin}${bestScore === null ? '' : `  best ${bestScore.toFixed(3)}`}`;
}
