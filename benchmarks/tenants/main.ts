/**
 * `pnpm bench tenants`: two projects of one `agl server`. First the example stock-clerk is trained by one project, in turns alone and
 * while the other sends requests at its limits: the share of its speed that it keeps, and whether it learns the same. Then each of
 * these requests is sent alone: the longest time that the serving thread is busy without a turn for other requests.
 *
 * @module
 */
import { parseFlags } from '../flags.ts';
import { progress, report, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median } from '../statistics.ts';
import { attacksOf } from './attacks.ts';
import { type MeasuredTraining, ServerUnderAttack, trainExample, underAttack } from './server-under-attack.ts';

const flags = parseFlags({ rounds: 3, steps: 6, requests: 5 });

await using server = await ServerUnderAttack.start();
const red = server.createTenant('red');
const blue = server.createTenant('blue');
let [requests, errors] = [0, 0];

const trainings = await measureInTurns(
  ['alone', 'attacked'] as const,
  { rounds: flags.rounds },
  async (contender, round) => {
    const train = (): Promise<MeasuredTraining> => trainExample(blue, flags.steps);
    if (contender === 'alone') {
      const training = await train();
      progress(`round ${round}, alone: ${training.speed.toFixed(3)} steps/s`);
      return training;
    }
    const { result: training, counts } = await underAttack(red, train);
    requests += counts.requests;
    errors += counts.errors;
    progress(
      `round ${round}, attacked: ${training.speed.toFixed(3)} steps/s, ${counts.requests} requests of the attacker`,
    );
    return training;
  },
);
const speeds = (contender: 'alone' | 'attacked'): readonly number[] =>
  (trainings.get(contender) ?? []).map(({ speed }) => speed);
const [alone, attacked] = [median(speeds('alone')), median(speeds('attacked'))];
const learned = new Set([...trainings.values()].flat().map((training) => training.learned.join('\n')));

const delays = [];
for (const [name, attack] of Object.entries(attacksOf(red))) {
  const statuses = new Set<number>();
  const delay = await server.measureDelay(async () => {
    for (let index = 0; index < flags.requests; index += 1) statuses.add(await attack());
  });
  progress(`${name}: ${[...statuses].join(', ')}; busy for at most ${delay.cpuMax.toFixed(0)} ms`);
  delays.push(result(`busy for ${name}`, { value: delay.cpuMax, unit: 'ms' }, { atMost: 50 }));
}

report('tenants', [
  result('speed alone', { value: alone, unit: 'steps/s' }, null),
  result('speed while attacked', { value: attacked, unit: 'steps/s' }, null),
  result('share of the speed', { value: attacked / alone, unit: 'x' }, { atLeast: 0.8 }),
  result('different outcomes of the runs', { value: learned.size, unit: 'outcomes' }, { atMost: 1 }),
  result('requests of the attacker', { value: requests, unit: 'requests' }, null),
  result('of these, internal errors', { value: errors, unit: 'requests' }, { atMost: 0 }),
  ...delays,
]);
