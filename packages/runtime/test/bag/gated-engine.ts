import type { BatchResult, CreateModelOptions, TrainingBatch } from '@agentlightning/core/training-runtime';
import type {
  EngineCapabilities,
  EngineModelState,
  ResolvedLoss,
  RuntimeEngine,
  WorkContext,
} from '../../src/index.ts';
import { bagCapabilities } from './bag-engine.ts';
import { BagModel } from './bag-model.ts';

/** The test policy behind a gate, with injected faults. */
export class GatedEngine implements RuntimeEngine {
  /** Error of every later pass over a batch. */
  fault: Error | null = null;
  /** Error of every later model creation. */
  creationFault: Error | null = null;
  isCorrupted = false;
  isClosed = false;
  /** Number of started batches. */
  started = 0;
  readonly #directory: string;
  readonly #capabilities: EngineCapabilities;
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  #whenStarted: (() => void)[] = [];

  constructor(directory: string, capabilities: Partial<EngineCapabilities> = {}) {
    this.#directory = directory;
    this.#capabilities = { ...bagCapabilities, ...capabilities };
  }

  /** Blocks batches when they start. */
  shut(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  /** Resolves when a batch has started and waits at the gate. */
  nextStart(): Promise<void> {
    return new Promise((resolve) => this.#whenStarted.push(resolve));
  }

  async pass(): Promise<void> {
    this.started += 1;
    for (const resolve of this.#whenStarted.splice(0)) resolve();
    await this.#gate;
    if (this.fault !== null) throw this.fault;
  }

  capabilities(): EngineCapabilities {
    return this.#capabilities;
  }

  async createModel(options: CreateModelOptions): Promise<GatedModel> {
    if (this.creationFault !== null) throw this.creationFault;
    return new GatedModel(options, this, this.#directory);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

class GatedModel extends BagModel {
  readonly #engine: GatedEngine;

  constructor(options: CreateModelOptions, engine: GatedEngine, directory: string) {
    super(options, { directory, baseUrl: 'http://127.0.0.1:1/v1' });
    this.#engine = engine;
  }

  override state(): EngineModelState {
    return { ...super.state(), isCorrupted: this.#engine.isCorrupted };
  }

  override async forwardBackward(batch: TrainingBatch, loss: ResolvedLoss, context: WorkContext): Promise<BatchResult> {
    await this.#engine.pass();
    return super.forwardBackward(batch, loss, context);
  }

  override async loadCheckpoint(uri: string): ReturnType<BagModel['loadCheckpoint']> {
    this.#engine.isCorrupted = false;
    return super.loadCheckpoint(uri);
  }
}
