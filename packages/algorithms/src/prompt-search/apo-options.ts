import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import {
  count,
  type SearchOptions,
  type SearchSettings,
  searchDefaults,
  searchOptionsShape,
} from './search-options.ts';

/** Options of automatic prompt optimisation. */
export interface ApoOptions extends SearchOptions {
  /** Number of rounds: criticism, rewriting, selection. @default 3 */
  readonly rounds?: number;
  /** Number of prompt sets that are kept after each round. @default 4 */
  readonly beamWidth?: number;
  /** Number of new versions per kept prompt set and round. @default 4 */
  readonly branchFactor?: number;
  /** Number of training tasks on which a version is run before criticism. @default 4 */
  readonly criticismTasks?: number;
  /** Number of validation tasks on which the versions of a round are compared. @default 16 */
  readonly validationTasks?: number;
}

/** {@link ApoOptions} with all defaults. */
export type ApoSettings = SearchSettings<ApoOptions>;

const optionsObject = z.strictObject({
  ...searchOptionsShape,
  rounds: count,
  beamWidth: count,
  branchFactor: count,
  criticismTasks: count,
  validationTasks: count,
});

/**
 * Validates options from outside and adds the defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseApoOptions(options: unknown): ApoSettings {
  const schema: z.ZodType<ApoOptions> = optionsObject;
  const given = parseSettings(schema, options, { what: 'algorithm apo' });
  return {
    ...searchDefaults,
    rounds: 3,
    beamWidth: 4,
    branchFactor: 4,
    criticismTasks: 4,
    validationTasks: 16,
    ...given,
  };
}
