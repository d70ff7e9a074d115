/**
 * Pretrains the start checkpoint of the quick start. Reinforcement learning strengthens behaviour that a policy already shows
 * sometimes: with random weights almost no tool call is well-formed, and nearly all rewards are zero. The corpus has roles,
 * tools with random names, calls and results, but not the tool, questions and tasks of the quick start, and no second call
 * after a result. The increase of the reward is therefore the effect of reinforcement learning.
 * `apps/trainer/test/learning-recipes.test.ts` has the controls: another reward leads to other behaviour, and zero, shuffled or
 * sign-flipped advantages do not improve it.
 *
 * @module
 */
import { fileURLToPath } from 'node:url';
import { writeCheckpoint } from '../src/checkpoint/model-checkpoint.ts';
import { tinyModelConfig } from '../src/model/model-config.ts';
import { ModelEngine } from '../src/model-engine.ts';
import { Random } from '../src/random.ts';
import { drawTranscript } from './corpus.ts';
import { CorpusBatches } from './corpus-batches.ts';
import { learningRateAt } from './learning-rate.ts';

/** The recipe of the committed start checkpoint. Change it and run `pnpm gen:model`. */
const recipe = { seed: 1, steps: 750, batchSize: 32, learningRate: 3e-3, warmupSteps: 20, decayFraction: 0.4 };

const target = fileURLToPath(new URL('../models/tiny-chat.safetensors', import.meta.url));

/** Trains the start checkpoint from random weights; prints the mean token loss every 50 steps. */
async function pretrain(): Promise<void> {
  const engine = ModelEngine.random(tinyModelConfig, recipe.seed);
  const batches = new CorpusBatches(Random.fromSeed(recipe.seed + 1), recipe.batchSize, drawTranscript);
  let recentLoss = 0;
  for (let step = 0; step < recipe.steps; step++) {
    const { loss } = await engine.forwardBackward(batches.next(), { name: 'cross_entropy', parameters: {} });
    await engine.optimStep({ learningRate: learningRateAt(step, recipe), beta2: 0.98 });
    recentLoss += loss / 50;
    if ((step + 1) % 50 !== 0) continue;
    process.stdout.write(`step ${step + 1}/${recipe.steps}  loss ${recentLoss.toFixed(3)} nats a token\n`);
    recentLoss = 0;
  }
  const sizeBytes = await writeCheckpoint(target, {
    config: engine.config,
    parameters: engine.parameters(),
    weightVersion: 0,
    random: Random.fromSeed(recipe.seed).state,
    clientState: new Uint8Array(),
  });
  process.stdout.write(`wrote models/tiny-chat.safetensors, ${sizeBytes} bytes\n`);
}

await pretrain();
