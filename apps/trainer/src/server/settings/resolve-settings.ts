import { parseSettings } from '@agentlightning/core/settings';
import { ConfigProblems } from '../../config/config-problems.ts';
import type { ServerSettings } from './server-settings.ts';
import { parseSettingText, type Setting, settings, settingsSchema } from './setting-table.ts';
import type { SettingsFile } from './settings-file.ts';

/** The sources of settings, the strongest first. */
export interface SettingSources {
  /** Values that were given by flags. */
  readonly flags: Partial<ServerSettings>;
  /** Empty variables are not set. */
  readonly environment: NodeJS.ProcessEnv;
  readonly file: SettingsFile | null;
}

/** A setting with its value and where that came from. */
export interface SettingOrigin {
  readonly setting: Setting;
  readonly value: string | number | null;
  readonly source: 'flag' | 'environment' | 'file' | 'default';
  /** The flag, the variable, or `<file>:<line>`; null for a default. */
  readonly position: string | null;
}

/** The settings of a server, and where each came from. */
export interface ResolvedSettings {
  readonly settings: ServerSettings;
  readonly origins: readonly SettingOrigin[];
}

/**
 * Resolves the settings of a server: a flag precedes the environment, then the configuration file, then the default.
 *
 */
export function resolveSettings(sources: SettingSources): ResolvedSettings {
  const problems = new ConfigProblems();
  const origins = settings.flatMap((setting) => problems.check(() => originOf(setting, sources)) ?? []);
  problems.throwIfAny();
  const values = Object.fromEntries(origins.map(({ setting, value }) => [setting.name, value]));
  return { settings: parseSettings(settingsSchema, values), origins };
}

function originOf(setting: Setting, { flags, environment, file }: SettingSources): SettingOrigin {
  const { name, flag } = setting;
  const flagged = flags[name];
  if (flagged !== undefined) return { setting, value: flagged, source: 'flag', position: flag.split(' ')[0] ?? flag };
  const text = environment[setting.environment] ?? '';
  if (text !== '') {
    const value = parseSettingText(setting, text, setting.environment);
    return { setting, value, source: 'environment', position: setting.environment };
  }
  const inFile = file?.values[name];
  // `model:` without a value is not set.
  if (inFile === undefined || inFile === null) {
    return { setting, value: setting.default, source: 'default', position: null };
  }
  return { setting, value: inFile, source: 'file', position: file?.positions.get(name) ?? null };
}
