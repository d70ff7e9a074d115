import type { TrainingListener } from '../events/training-listener.ts';

/** Shows the progress of a run. */
export interface Report {
  readonly onEvent: TrainingListener;
  /** Shows console output of the agent. */
  readonly print: (text: string) => void;
  /** Removes the progress line, before other output such as an error. */
  readonly close: () => void;
}
