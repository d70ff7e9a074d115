/**
 * Compares checkpoints of a run: win rates of each team against the outside model on the held-out games, and an Elo
 * table from games of every checkpoint against every other one.
 *
 * Usage: `node tournament.ts <run> <step> <step> … [--games 16] [--tasks tasks/test.jsonl]`. It prints Markdown.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connectRuntime } from '@agentlightning/runtime';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { Trainer } from '@agentlightning/trainer';
import OpenAI from 'openai';
import { type GameTask, gameTask, playGame, type Seat } from './agent.ts';
import config, { baseModel } from './agl.config.ts';
import { eloRatings, type GameResult } from './elo.ts';

const folder = import.meta.dirname;
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { games: { type: 'string', default: '16' }, tasks: { type: 'string', default: 'tasks/test.jsonl' } },
});
const [run = '', ...steps] = positionals;
const [train, test] = ['tasks/train.jsonl', values.tasks].map((file) => path.join(folder, file));
const trainer = new Trainer({
  ...config,
  tasks: { train: train ?? '', test: test ?? '' },
  run: { ...config.run, dataDir: path.join(folder, '.agl') },
});

/** The win rate of each team against the outside model, as `agl eval --of <run>@<step>` measures it. */
async function winRates(step: string): Promise<readonly string[]> {
  const { of } = await trainer.test({ of: `${run}@${step}` });
  return ['wolves_won', 'village_won'].map((part) => (of.parts[part]?.reward ?? Number.NaN).toFixed(2));
}

/** Plays the first held-out games of all pairs of checkpoints, each pair with both distributions of teams. */
async function playPairs(games: readonly GameTask[]): Promise<readonly GameResult[]> {
  const checkpointDir = path.join(folder, '.agl/checkpoints');
  const server = await startCpuRuntime({ checkpointDir });
  const runtime = await connectRuntime({ address: server.address, apiKey: server.apiKey });
  try {
    const client = new OpenAI({ apiKey: server.apiKey, baseURL: server.inferenceUrl });
    const seats = new Map<string, Seat>();
    for (const step of steps) {
      const modelId = `tournament-${step}`;
      const model = await runtime.createModel({
        baseModel,
        modelId,
        seed: 0,
        initialCheckpoint: `${run}/step-${step.padStart(6, '0')}`,
      });
      await (await model.publishWeights()).result;
      seats.set(step, { client, model: modelId });
    }
    const pairs = steps.flatMap((wolves) =>
      steps.flatMap((village) => (wolves === village ? [] : [{ wolves, village }])),
    );
    const results = await Promise.all(
      pairs.flatMap(({ wolves, village }) =>
        games.map(async ({ roles }) => {
          const [wolfSeat, villageSeat] = [seats.get(wolves), seats.get(village)];
          if (wolfSeat === undefined || villageSeat === undefined) return null;
          const { state } = await playGame(roles, { wolves: wolfSeat, village: villageSeat });
          return state.winner === null
            ? { winner: wolves, loser: village, isDraw: true }
            : {
                winner: state.winner === 'wolves' ? wolves : village,
                loser: state.winner === 'wolves' ? village : wolves,
              };
        }),
      ),
    );
    return results.filter((result) => result !== null);
  } finally {
    await runtime.close();
    await server.close();
  }
}

const games = readFileSync(test ?? '', 'utf8')
  .trim()
  .split('\n')
  .slice(0, Number(values.games))
  .map((line) => gameTask.parse(JSON.parse(line)));
const rates = new Map<string, readonly string[]>();
for (const step of steps) rates.set(step, await winRates(step));
const ratings = eloRatings(steps, await playPairs(games));
console.log(
  '| Step | Wolves against the outside village | Village against the outside wolves | Elo |\n|---|---|---|---|',
);
for (const step of steps) {
  const [wolves, village] = rates.get(step) ?? [];
  console.log(`| ${step} | ${wolves} | ${village} | ${Math.round(ratings.get(step) ?? Number.NaN)} |`);
}
