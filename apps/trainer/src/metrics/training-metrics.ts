import { systemClock } from '@agentlightning/core/internal';
import type { EvaluationPhase, StepSummary, TrainingEvent } from '@agentlightning/core/protocol';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const stepBuckets = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** Prometheus metrics of the run that a process trains. They are those of the current run, which is their only id. */
export class TrainingMetrics {
  readonly #step: Gauge<'run'>;
  readonly #stepTime: Gauge<'run'>;
  readonly #reward: Gauge<'run'>;
  readonly #evaluation: Gauge<'run' | 'phase'>;
  readonly #values: Gauge<'run' | 'name'>;
  readonly #running: Gauge;
  readonly #steps: Counter;
  readonly #duration: Histogram;
  readonly #warnings: Counter<'warning'>;
  #run = '';

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = <TLabel extends string>(name: string, help: string, ...labelNames: TLabel[]): Gauge<TLabel> =>
      new Gauge({ name: `agl_train_${name}`, help, labelNames, registers });
    this.#running = gauge('running', 'Whether a run is trained now');
    this.#step = gauge('step', 'Last finished step of the current run', 'run');
    this.#stepTime = gauge('last_step_timestamp_seconds', 'When the last step finished, or the run began', 'run');
    this.#reward = gauge('reward', 'Mean reward of the rollouts of the last step', 'run');
    this.#evaluation = gauge('evaluation_reward', 'Mean reward of held-out tasks, by phase', 'run', 'phase');
    this.#values = gauge('metric', 'Metrics of the last step by name, such as policy/kl', 'run', 'name');
    this.#steps = new Counter({ name: 'agl_train_steps_total', help: 'Finished training steps', registers });
    this.#duration = new Histogram({
      name: 'agl_train_step_duration_seconds',
      help: 'Duration of training steps',
      buckets: stepBuckets,
      registers,
    });
    this.#warnings = new Counter({
      name: 'agl_train_warnings_total',
      help: 'Warnings about runs by name',
      labelNames: ['warning'],
      registers,
    });
  }

  /** Follows the events of a training. */
  onEvent(event: TrainingEvent): void {
    if (event.type === 'started') this.#started(event.runId);
    else if (event.type === 'stepped') this.#stepped(event.summary);
    else if (event.type === 'evaluated') this.#evaluated(event.phase, event.summary.reward);
    else if (event.type === 'warning' && event.condition !== undefined) this.#warned(event.condition.name);
    else if (event.type === 'finished') this.ended();
  }

  /** A run begins or resumes. */
  #started(run: string): void {
    for (const gauge of [this.#step, this.#stepTime, this.#reward, this.#evaluation, this.#values]) gauge.reset();
    this.#run = run;
    this.#running.set(1);
    this.#stepTime.set({ run }, systemClock.now() / 1000);
  }

  #stepped({ step, reward, seconds, metrics }: StepSummary): void {
    const run = this.#run;
    this.#steps.inc();
    this.#duration.observe(seconds);
    this.#step.set({ run }, step);
    this.#stepTime.set({ run }, systemClock.now() / 1000);
    this.#reward.set({ run }, reward);
    for (const [name, value] of Object.entries(metrics)) this.#values.set({ run, name }, value);
  }

  #evaluated(phase: EvaluationPhase, reward: number): void {
    this.#evaluation.set({ run: this.#run, phase }, reward);
  }

  /** @param warning - the name of the condition */
  #warned(warning: string): void {
    this.#warnings.inc({ warning });
  }

  /** The run has ended, for whatever reason. */
  ended(): void {
    this.#running.set(0);
  }
}
