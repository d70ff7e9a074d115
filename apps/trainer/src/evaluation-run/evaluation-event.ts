import type { ServiceEvent } from '../events/training-listener.ts';
import type { EvaluatedSubject, EvaluationReport } from './evaluation-report.ts';

/** An event of an evaluation. */
export type EvaluationEvent =
  | {
      readonly type: 'started';
      readonly runId: string;
      readonly name: string;
      /** The number of tasks. */
      readonly tasks: number;
      /** The number of rollouts of each task. */
      readonly samples: number;
      /** The evaluated subjects, in order. */
      readonly subjects: readonly string[];
    }
  | {
      readonly type: 'rollout-finished';
      readonly subject: string;
      readonly finished: number;
      readonly total: number;
    }
  | { readonly type: 'evaluated'; readonly summary: EvaluatedSubject }
  | ServiceEvent
  | { readonly type: 'finished'; readonly report: EvaluationReport };

/** Receives the events of an evaluation. */
export type EvaluationListener = (event: EvaluationEvent) => void;
