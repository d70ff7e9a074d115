import type { TrainingListener } from '../training-event.ts';

/** Shows a training run while it goes on. */
export interface Report {
  readonly onEvent: TrainingListener;
  /** Shows text that the agent wrote to its console. */
  readonly print: (text: string) => void;
  /** Leaves the output in order for whatever comes next, such as an error. */
  readonly close: () => void;
}
