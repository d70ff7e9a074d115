import { defineConfig } from '@agentlightning/trainer';
import { search } from './agl.config.ts';

/** The same search by APO: criticism, rewriting, beam search. */
export default defineConfig({
  ...search,
  run: { ...search.run, name: 'room-selector-apo' },
  algorithm: {
    type: 'apo',
    rounds: 7,
    beamWidth: 2,
    branchFactor: 3,
    validationTasks: 24,
    maxRollouts: 2500,
    maxOptimizerCalls: 160,
    stopAtScore: 1,
  },
});
