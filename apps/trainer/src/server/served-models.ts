import { AgentLightningError, type Run } from '@agentlightning/core';
import type { Gateway, Upstream } from '@agentlightning/gateway';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import { modelName, qualifiedRunId } from '../config/model-name.ts';
import { onlyPolicy } from '../config/policies.ts';
import { needsValueHead } from '../config/policy-learner.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { chooseCheckpoint } from '../run/choose-checkpoint.ts';
import { readRunState } from '../run/run-state.ts';
import { chooseBaseModel } from '../runtime/choose-base-model.ts';
import { modelOptionsOf } from '../session/open-models.ts';
import type { ServerRuntime } from './server-runtime.ts';

/**
 * The models of the runs of a project at its gateway. Rollouts are routed to the model of their run; other calls that name none
 * of them are sent to the model of the last started run.
 */
export class ServedModels {
  readonly #gateway: Pick<Gateway, 'setUpstream'>;
  readonly #runtime: ServerRuntime;
  readonly #dataDir: string;
  readonly #project: string | undefined;
  readonly #configOf: (runId: string) => Promise<ResolvedConfig>;
  #runs = new Map<string, readonly Upstream[]>();
  #current: string | null = null;

  constructor(options: {
    readonly gateway: Pick<Gateway, 'setUpstream'>;
    readonly runtime: ServerRuntime;
    readonly dataDir: string;
    /** The project of the runs. @default the default one */
    readonly project?: string | undefined;
    /** The configuration of a run. */
    readonly configOf: (runId: string) => Promise<ResolvedConfig>;
  }) {
    this.#gateway = options.gateway;
    this.#runtime = options.runtime;
    this.#dataDir = options.dataDir;
    this.#project = options.project;
    this.#configOf = options.configOf;
  }

  /**
   * Serves the models of a run that starts.
   *
   * @throws AgentLightningError CONFIG for an upstream that may not be used; the others stay
   */
  start(runId: string, upstreams: readonly Upstream[]): void {
    const models = upstreams.map((upstream) => ({ ...upstream, runs: [runId] }));
    this.#add(runId, models, runId);
  }

  /** Forgets all models: the runtime was started again. */
  clear(): void {
    this.#runs = new Map();
    this.#register(this.#runs, this.#current);
  }

  /**
   * Serves the model of a run, loaded from its last checkpoint unless the runtime still has it.
   *
   * @returns the name of the model at the gateway
   * @throws AgentLightningError CONFLICT for a run that has not started
   */
  async serve(run: Run): Promise<string> {
    const known = this.#runs.get(run.runId)?.[0]?.model;
    if (typeof known === 'string') return known;
    const upstream = await this.#load(run);
    this.#add(run.runId, [upstream], this.#current);
    return upstream.model ?? run.runId;
  }

  async #load(run: Run): Promise<Upstream & { readonly model: string }> {
    if (Object.keys(run.state).length === 0) throw notStarted(run);
    const state = readRunState(run, this.#dataDir);
    const { seed, modelNaming } = state;
    const saved = state.checkpoint === null ? null : chooseCheckpoint(state, 'final');
    const { runtime: config, policies } = await this.#configOf(run.runId);
    return await this.#runtime.use(async ({ runtime, inferenceKey }) => {
      const model = await runtime.createModel({
        modelId: modelName({ runId: qualifiedRunId(run.runId, this.#project), policy: null, naming: modelNaming }),
        baseModel: chooseBaseModel(config.model, await runtime.capabilities()),
        seed,
        // As in the training: the checkpoint has these weights.
        ...modelOptionsOf(config, policies.some(needsValueHead)),
      });
      const { step } = await model.state();
      const uri = saved?.uris[onlyPolicy] ?? null;
      if (uri !== null && step === 0) await (await model.loadCheckpoint(uri)).result;
      const endpoint = await model.endpoint();
      return {
        baseUrl: endpoint.baseUrl,
        model: endpoint.model,
        apiKey: inferenceKey(endpoint),
        agents: [],
        names: [],
        runs: [run.runId],
      };
    });
  }

  /** Adds the models of a run if the gateway accepts them. */
  #add(runId: string, models: readonly Upstream[], current: string | null): void {
    const runs = new Map(this.#runs).set(runId, models);
    this.#register(runs, current);
    this.#runs = runs;
    this.#current = current;
  }

  #register(runs: ReadonlyMap<string, readonly Upstream[]>, current: string | null): void {
    const others = [...runs].filter(([runId]) => runId !== current).flatMap(([, upstreams]) => upstreams);
    const upstreams = [...(current === null ? [] : (runs.get(current) ?? [])), ...others];
    const allowInsecureKey = areInsecureKeysAllowed();
    this.#gateway.setUpstream(upstreams.map((upstream) => ({ ...upstream, allowInsecureKey })));
  }
}

function notStarted({ runId, status }: Run): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `run ${runId} has no model yet: it is ${status}`,
    remedy: 'Wait until it has started.',
  });
}
