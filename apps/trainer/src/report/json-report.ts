import { addressText } from '@agentlightning/core/internal';
import type {
  ConstantResponse,
  PromptsOutcome,
  SearchStart,
  StepSummary,
  TrainingEvent,
} from '../events/training-event.ts';
import { summaryOf } from '../run/stored-evaluation.ts';
import type { Report } from './report.ts';

/**
 * Writes one JSON object per line. Field names are snake_case; the last line of a finished run is
 * `{"event":"done",…}`.
 *
 * @param printElsewhere - receives output that is not JSON
 */
export function jsonReport(write: (line: string) => void, printElsewhere: (text: string) => void): Report {
  return {
    onEvent: (event) => {
      if (event.type === 'agent-output') printElsewhere(`${event.line}\n`);
      const record = toRecord(event);
      if (record !== null) write(`${JSON.stringify(record)}\n`);
    },
    print: printElsewhere,
    close: () => undefined,
  };
}

function toRecord(event: TrainingEvent): Record<string, unknown> | null {
  switch (event.type) {
    case 'started':
      return {
        event: 'started',
        run: event.runId,
        name: event.name,
        steps: event.steps,
        first_step: event.firstStep,
        train_tasks: event.trainTasks,
        heldout: event.heldOutTasks,
        algorithm: event.algorithm,
        device: event.device,
        ...(event.search === undefined ? {} : { search: searchRecord(event.search) }),
      };
    case 'evaluated':
      return {
        event: 'evaluated',
        phase: event.phase,
        step: event.step,
        tasks: event.tasks,
        ...summaryOf(event.summary),
      };
    case 'stepped':
      return stepRecord(event.summary);
    case 'checkpointed':
      return {
        event: 'checkpoint',
        step: event.step,
        uri: event.uri,
        ...(event.policy === null ? {} : { policy: event.policy }),
      };
    case 'prompts-judged':
      return {
        event: 'prompts',
        version: event.version,
        score: event.score,
        scored_tasks: event.scoredTasks,
        parents: event.parents,
        best_score: event.bestScore,
      };
    case 'nothing-left':
      return {
        event: 'nothing_left',
        run: event.runId,
        reason: event.reason,
        ...(event.reason === 'limits' ? {} : { step: event.finishedStep, steps: event.steps }),
      };
    case 'warning':
      return event.condition === undefined
        ? { event: 'warning', message: event.message }
        : { event: 'warning', ...event.condition };
    case 'runners':
      return { event: 'runners', runners: event.runners };
    case 'agent-output':
    case 'rollout-finished':
    case 'search-progress':
      return null;
    case 'finished':
      return doneRecord(event.summary);
  }
}

function stepRecord(summary: StepSummary): Record<string, unknown> {
  return {
    event: 'step',
    step: summary.step,
    steps: summary.steps,
    reward: summary.reward,
    entropy: summary.entropy,
    tokens_per_second: summary.tokensPerSecond,
    seconds: summary.seconds,
    seconds_left: summary.secondsLeft,
    metrics: summary.metrics,
  };
}

function constantRecord(constant: ConstantResponse | null): Record<string, unknown> | null {
  return constant === null ? null : { text: constant.text, reward: constant.reward, seen_share: constant.seenShare };
}

function searchRecord(search: SearchStart): Record<string, unknown> {
  return {
    validation: search.validationTasks,
    prompts: search.prompts,
    optimizer: search.optimizer,
    max_rollouts: search.maxRollouts,
    max_optimizer_calls: search.maxOptimizerCalls,
    versions: search.versions,
  };
}

function promptsRecord({
  versions,
  best,
  ended,
  measuredOn,
  rollouts,
  optimizerCalls,
  file,
  ...outcome
}: PromptsOutcome) {
  return {
    versions: versions.length,
    best,
    ended,
    measured_on: measuredOn,
    rollouts,
    optimizer_calls: optimizerCalls,
    unusable_replies: outcome.unusableReplies,
    optimizer_input_tokens: outcome.optimizerUse?.inputTokens ?? null,
    optimizer_output_tokens: outcome.optimizerUse?.outputTokens ?? null,
    optimizer_cost: outcome.optimizerUse?.cost.amount ?? null,
    file,
  };
}

function doneRecord(summary: Extract<TrainingEvent, { type: 'finished' }>['summary']): Record<string, unknown> {
  return {
    event: 'done',
    reward_before: summary.before.reward,
    reward_after: summary.after.reward,
    heldout: summary.after.rollouts,
    ci95_before: summary.before.ci95,
    ci95_after: summary.after.ci95,
    verdict: summary.verdict,
    caveats: summary.caveats,
    improved: summary.isImproved,
    p_value: summary.pValue,
    missing_share: summary.missingShare,
    ...(summary.training === undefined
      ? {}
      : {
          ended: summary.training.ended,
          warnings: summary.training.warnings.map(({ name }) => name),
          constant_response: constantRecord(summary.training.constantResponse),
          final_step: summary.training.final.step,
          selected_on: summary.training.final.selectedOn,
        }),
    seconds: summary.seconds,
    run: summary.runId,
    store: addressText(summary.storeUrl),
    rollout_before: summary.exampleBefore,
    rollout_after: summary.exampleAfter,
    ...(summary.prompts === undefined ? {} : { prompts: promptsRecord(summary.prompts) }),
  };
}
