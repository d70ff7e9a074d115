import { describeEnvironmentContract } from '../src/contracts/index.ts';
import { corridor } from './corridor.ts';

describeEnvironmentContract({
  name: 'a corridor in memory',
  create: () => corridor,
  task: { rooms: 5 },
  change: { type: 'tool-call', name: 'walk', arguments: { by: 1 } },
  look: { type: 'tool-call', name: 'look', arguments: {} },
  invalid: { type: 'tool-call', name: 'walk', arguments: { by: 'far' } },
});
