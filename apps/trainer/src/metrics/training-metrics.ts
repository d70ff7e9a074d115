import { systemClock } from '@agentlightning/core/internal';
import { instrumentOptions, type OperationalMetric, operationalMetrics } from '@agentlightning/core/metrics';
import type { EvaluationPhase, StepSummary, TrainingEvent } from '@agentlightning/core/protocol';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

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
    const gauge = <TMetric extends OperationalMetric>(metric: TMetric): Gauge<TMetric['labels'][number]> =>
      new Gauge({ ...instrumentOptions(metric), registers });
    this.#running = gauge(operationalMetrics.trainRunning);
    this.#step = gauge(operationalMetrics.trainStep);
    this.#stepTime = gauge(operationalMetrics.trainLastStepTime);
    this.#reward = gauge(operationalMetrics.trainReward);
    this.#evaluation = gauge(operationalMetrics.trainEvaluationReward);
    this.#values = gauge(operationalMetrics.trainMetric);
    this.#steps = new Counter({ ...instrumentOptions(operationalMetrics.trainSteps), registers });
    this.#duration = new Histogram({ ...instrumentOptions(operationalMetrics.trainStepDuration), registers });
    this.#warnings = new Counter({ ...instrumentOptions(operationalMetrics.trainWarnings), registers });
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
