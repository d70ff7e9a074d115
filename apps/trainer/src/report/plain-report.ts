import type { TrainingEvent } from '../training-event.ts';
import { percent, shortDuration } from './number-text.ts';
import type { Report } from './report.ts';

/** Writes plain lines, one a step: for logs and pipes. */
export function plainReport(write: (line: string) => void): Report {
  return {
    onEvent: (event) => {
      const line = plainLine(event);
      if (line !== null) write(`${line}\n`);
    },
    print: write,
    close: () => undefined,
  };
}

/** An event as one line of text; null for those that only move a progress bar. */
export function plainLine(event: TrainingEvent): string | null {
  switch (event.type) {
    case 'started':
      return (
        `Run ${event.runId}: ${event.algorithm} on "${event.name}", ${event.trainTasks} tasks to train on, ` +
        `${event.heldOutTasks} held out, ${event.device}` +
        (event.firstStep > 1 ? `, going on at step ${event.firstStep}` : '')
      );
    case 'evaluated': {
      const { reward, ci95, rollouts, failed } = event.summary;
      const failures = failed === 0 ? '' : `, ${failed} failed`;
      const when = event.phase === 'during' ? `at step ${event.step}` : `${event.phase} training`;
      return `Held-out reward ${when}: ${reward.toFixed(3)} (95% ${ci95[0].toFixed(3)} to ${ci95[1].toFixed(3)}, ${rollouts} rollouts${failures})`;
    }
    case 'stepped': {
      const { step, steps, reward, entropy, tokensPerSecond, secondsLeft } = event.summary;
      return (
        `step ${step}/${steps} (${percent(step / steps)})  reward ${reward.toFixed(3)}  entropy ${entropy === null ? '-' : entropy.toFixed(3)}  ` +
        `${Math.round(tokensPerSecond)} tokens/s  ${shortDuration(secondsLeft)} left`
      );
    }
    case 'warning':
      return `warning: ${event.message}`;
    case 'checkpointed':
    case 'rollout-finished':
    case 'finished':
      return null;
  }
}
