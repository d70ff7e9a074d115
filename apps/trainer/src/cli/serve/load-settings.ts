import { environmentVariables } from '../../config/environment.ts';
import { type ResolvedSettings, resolveSettings } from '../../server/settings/resolve-settings.ts';
import type { ServerSettings } from '../../server/settings/server-settings.ts';
import { readSettingsFile } from '../../server/settings/settings-file.ts';

/** The flags of a command that takes the settings of a server. */
export interface SettingFlags extends Partial<ServerSettings> {
  /** A configuration file in YAML or JSON. */
  readonly config?: string;
}

/** The settings from the flags, the environment and the configuration file. @throws AgentLightningError CONFIG */
export async function loadSettings({ config, ...flags }: SettingFlags): Promise<ResolvedSettings> {
  const file = config === undefined ? null : await readSettingsFile(config);
  return resolveSettings({ flags, environment: environmentVariables(), file });
}
