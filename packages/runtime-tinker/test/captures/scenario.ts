import { systemClock } from '@agentlightning/core/internal';
import { layerGroups, TinkerSession } from '../../src/wire/tinker-session.ts';

/** Where the scenario runs. */
export interface ScenarioPlace {
  readonly url: string;
  readonly apiKey: string;
  readonly baseModel: string;
  /** Whether the server divides by the weights of tokens, and so gets them. */
  readonly isAveraging: boolean;
}

const tokenIds = Int32Array.from([1, 2, 3, 4, 5]);
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClipNorm: 1 };

/** Every kind of request, one after the other: what it returns depends on the responses only. */
export async function runScenario({ url, apiKey, baseModel, isAveraging }: ScenarioPlace): Promise<object> {
  const session = await TinkerSession.open({ baseUrl: url, apiKey, clock: systemClock });
  try {
    const models = await session.models();
    const options = { baseModel, rank: 8, seed: 1, layers: layerGroups };
    const model = await session.createModel(options);
    const [scores = new Float32Array()] = await model.score([{ tokenIds, inputs: {} }]);
    const weights = isAveraging ? { weights: Float32Array.of(0, 0, 1, 1) } : {};
    const inputs = { logprobs: scores, advantages: Float32Array.of(0, 0, 0.5, 1), ...weights };
    const [trained = new Float32Array()] = await model.addGradients([{ tokenIds, inputs }]);
    const metrics = await model.step(adam);
    const sampler = await model.publish();
    const rule = { maxTokens: 3, temperature: 1, topP: 1, vocabularySize: 256, stopTokens: [] };
    const sample = await sampler.sample({ promptTokens: [...tokenIds], ...rule, seed: 3 });
    const uri = await model.saveWeights('first');
    await model.unload();
    const loaded = await session.loadModel(options, uri, true);
    const [restored = new Float32Array()] = await loaded.score([{ tokenIds, inputs: {} }]);
    await loaded.unload();
    const numbers = { scores: [...scores], trained: [...trained], restored: [...restored] };
    return { models, alpha: model.alpha, metrics, sample, uri, ...numbers };
  } finally {
    session.close();
  }
}
