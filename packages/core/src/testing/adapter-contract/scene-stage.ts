import { expect } from 'vitest';
import { headerNames } from '../../base/header-names.ts';
import { newId } from '../../base/id.ts';
import type { SpanInput } from '../../spans/span.ts';
import { AttemptSpans } from '../../tracing/attempt-spans.ts';
import { type RolloutContext, type SpanSink, withRollout } from '../../tracing/rollout-context.ts';
import { aRolloutContext } from '../a-rollout.ts';
import { MemorySpanSink } from '../memory-span-sink.ts';
import { ScriptedModel, type ScriptedModelScript } from '../scripted-model.ts';
import type { ScriptedStep } from '../scripted-model-step.ts';
import type { AdapterUnderTest, SceneAgent, SceneAsk, SceneModelOptions } from './adapter-under-test.ts';
import { SceneTrace } from './scene-trace.ts';

/** Key of the agent's own provider, which must never be sent to a gateway. */
export const ownKey = 'key-of-the-agent';

/** The key of the attempt's endpoint. */
export const gatewayKey = 'key-of-the-gateway';

/** Options of a scene. */
export interface StageOptions {
  /** Whether the rollout has an endpoint. @default by the adapter's `modelCallsBy` */
  readonly hasEndpoint?: boolean;
  /** @default true */
  readonly isInstrumented?: boolean;
  /** @default true */
  readonly redirect?: boolean;
  /** Span sink. @default memory */
  readonly sink?: SpanSink;
  /** Responses of the agent's own provider in a rollout with an endpoint. @default none: calls there fail */
  readonly ownScript?: readonly ScriptedStep[];
}

/** A rollout of a scene. */
export interface SceneRollout {
  readonly context: RolloutContext;
  /** Runs a function as the rollout's agent. */
  run<TResult>(run: () => Promise<TResult>): Promise<TResult>;
  /** Ends the attempt and returns its trace. */
  end(): SceneTrace;
  /** Spans recorded after the end. */
  readonly late: readonly SpanInput[];
}

/**
 * Fixture of one scene: the instrumented adapter, a scripted model at the expected destination of calls, and one
 * without responses at the other. Both fail the test on unexpected and missing calls.
 */
export class SceneStage<TModel> implements AsyncDisposable {
  /** The expected destination of calls: the gateway, or, without an endpoint, the agent's own provider. */
  readonly model: ScriptedModel;
  readonly #adapter: AdapterUnderTest<TModel>;
  /** The agent's own provider, in a rollout with an endpoint. */
  readonly own: ScriptedModel;
  readonly #hasEndpoint: boolean;
  readonly #options: StageOptions;
  readonly #undo: () => void;
  #hasFailed = false;

  private constructor(
    adapter: AdapterUnderTest<TModel>,
    servers: { readonly model: ScriptedModel; readonly own: ScriptedModel },
    options: StageOptions,
  ) {
    this.#adapter = adapter;
    this.model = servers.model;
    this.own = servers.own;
    this.#options = options;
    this.#hasEndpoint = options.hasEndpoint ?? adapter.modelCallsBy !== 'gateway';
    const { isInstrumented = true, redirect = true } = options;
    this.#undo = isInstrumented ? adapter.instrument({ redirect }) : () => {};
  }

  static async open<TModel>(
    adapter: AdapterUnderTest<TModel>,
    script: readonly ScriptedStep[] | ScriptedModelScript,
    options: StageOptions = {},
  ): Promise<SceneStage<TModel>> {
    const servers = {
      model: await ScriptedModel.start(script),
      own: await ScriptedModel.start(options.ownScript ?? []),
    };
    return new SceneStage(adapter, servers, options);
  }

  /** Undoes the instrumentation and checks that all scripted calls were made. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#undo();
    const closed = await Promise.allSettled([this.own.close(), this.model.close()]);
    const failed = closed.find((result) => result.status === 'rejected');
    // Unused steps are a consequence of the agent's failure, which is reported instead.
    if (failed !== undefined && !this.#hasFailed) throw failed.reason;
  }

  /** Options of model objects. */
  modelOptions(fields: Partial<SceneModelOptions> = {}): SceneModelOptions {
    const { baseUrl } = this.#hasEndpoint ? this.own : this.model;
    return {
      baseUrl,
      apiKey: ownKey,
      model: 'tiny',
      maxRetries: 0,
      choices: 1,
      api: this.#adapter.api ?? 'chat-completions',
      isCached: false,
      ...fields,
    };
  }

  /** An agent; pass only the fields relevant to the scene. */
  agent(fields: Partial<SceneAgent<TModel>> = {}): SceneAgent<TModel> {
    return {
      name: 'helper',
      instructions: 'Be brief.',
      model: fields.model ?? this.#adapter.createModel(this.modelOptions()),
      tools: [],
      subAgents: [],
      output: null,
      ...fields,
    };
  }

  /** Runs an agent; pass only the fields relevant to the scene. */
  ask(agent: SceneAgent<TModel>, fields: Partial<SceneAsk> & Pick<SceneAsk, 'prompt'>): Promise<string> {
    const defaults = { imageUrl: null, history: [], isStreamed: false, onText: () => true, signal: null };
    return this.#adapter.ask(agent, { ...defaults, ...fields }).catch((error: unknown) => {
      this.#hasFailed = true;
      throw error;
    });
  }

  /** Opens a separate rollout. */
  rollout(fields: Partial<RolloutContext> = {}): SceneRollout {
    const memory = new MemorySpanSink();
    const late: SpanInput[] = [];
    const spans = new AttemptSpans(this.#options.sink ?? memory, { onLateSpan: (span) => late.push(span) });
    const ids = { rolloutId: newId('rollout'), attemptId: newId('attempt') };
    const baseUrl = this.model.baseUrl.replace('/v1', `/rollout/${ids.rolloutId}/attempt/${ids.attemptId}/v1`);
    const endpoint = this.#hasEndpoint ? { baseUrl, model: 'policy', apiKey: gatewayKey } : null;
    const context = aRolloutContext({ ...ids, endpoint, sink: spans, ...fields });
    return {
      context,
      late,
      run: (run) => withRollout(context, run),
      end: () => {
        spans.close();
        return new SceneTrace(memory.spans);
      },
    };
  }

  /** Runs an agent once in a separate rollout, and returns the trace. */
  async play(
    agent: SceneAgent<TModel>,
    ask: Partial<SceneAsk> & Pick<SceneAsk, 'prompt'>,
  ): Promise<{ readonly reply: string; readonly trace: SceneTrace; readonly rollout: SceneRollout }> {
    const rollout = this.rollout();
    const reply = await rollout.run(() => this.ask(agent, ask));
    return { reply, trace: rollout.end(), rollout };
  }

  /**
   * Checks that the calls of a rollout were sent to its attempt's URL, with its key and their trace position, and
   * without credentials of the agent's own provider. Passes for a rollout without an endpoint.
   */
  expectAtGateway(rollout: SceneRollout, trace: SceneTrace): void {
    if (!this.#hasEndpoint) return;
    const { rolloutId, attemptId, traceId } = rollout.context;
    const root = `/rollout/${rolloutId}/attempt/${attemptId}/v1/`;
    const requests = this.model.requests.filter(({ path }) => path.startsWith(root));
    expect(requests.length, 'calls at the attempt’s own address').toBeGreaterThan(0);
    for (const { headers } of requests) {
      expect(headers.authorization).toBe(`Bearer ${gatewayKey}`);
      expect(JSON.stringify(headers)).not.toContain(ownKey);
      expect(headers[headerNames.traceId]).toBe(traceId);
      this.#expectPlace(headers, trace);
    }
  }

  #expectPlace(headers: Readonly<Record<string, string | undefined>>, trace: SceneTrace): void {
    const parent = trace.byId(headers[headerNames.parentSpanId]);
    expect(parent, `the call’s parent ${headers[headerNames.parentSpanId]} in the trace\n${trace}`).toBeDefined();
    if (parent === undefined) return;
    const agentName = decodeURIComponent(headers[headerNames.agentName] ?? '');
    const path = (headers[headerNames.agentPath] ?? '').split('>').map(decodeURIComponent).join('>');
    expect(parent.attributes).toMatchObject({
      'gen_ai.agent.name': agentName,
      'agentlightning.agent.path': path,
    });
    if (this.#adapter.cannot['call-place'] === undefined) {
      expect(parent.attributes['agentlightning.step.kind'], `the call’s parent in\n${trace}`).toBe('model-call');
    }
  }
}
