import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import {
  count,
  type SearchOptions,
  type SearchSettings,
  searchDefaults,
  searchOptionsShape,
} from './search-options.ts';

/** Options of reflective prompt evolution. `maxRollouts` is 500 by default. */
export interface GepaOptions extends SearchOptions {
  /** Number of versions proposed concurrently; more are faster but cannot build on each other. @default 4 */
  readonly proposals?: number;
  /** Number of training tasks on which a version is compared with its parent. @default 3 */
  readonly reflectionTasks?: number;
  /** Whether versions that are best at different tasks are merged. @default true */
  readonly merges?: boolean;
}

/** {@link GepaOptions} with all defaults. */
export type GepaSettings = SearchSettings<GepaOptions>;

const optionsObject = z.strictObject({
  ...searchOptionsShape,
  proposals: count,
  reflectionTasks: count,
  merges: z.boolean().exactOptional(),
});

/**
 * Validates options from outside and adds the defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseGepaOptions(options: unknown): GepaSettings {
  const schema: z.ZodType<GepaOptions> = optionsObject;
  const given = parseSettings(schema, options, { what: 'algorithm gepa' });
  return { ...searchDefaults, maxRollouts: 500, proposals: 4, reflectionTasks: 3, merges: true, ...given };
}
