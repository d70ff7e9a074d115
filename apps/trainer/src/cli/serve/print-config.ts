import { addressText } from '@agentlightning/core/internal';
import { textTable } from '../../report/text-formats.ts';
import type { SettingOrigin } from '../../server/settings/resolve-settings.ts';
import { writeOutcome } from '../error-text.ts';
import { loadSettings, type SettingFlags } from './load-settings.ts';

/** Prints each setting with its value and origin. Passwords of addresses are redacted. */
export async function printConfig(flags: SettingFlags, { json }: { readonly json: boolean }): Promise<void> {
  const { origins } = await loadSettings(flags);
  const shown = origins.map(({ setting: { name }, source, position, ...origin }) => ({
    name,
    value: shownValue(origin),
    source,
    position,
  }));
  const rows = shown.map(({ name, value, position }) => [name, String(value ?? 'not set'), position ?? 'default']);
  writeOutcome(
    { json },
    { record: { settings: shown }, text: textTable(['setting', 'value', 'from'], rows).join('\n') },
  );
}

function shownValue({ value }: Pick<SettingOrigin, 'value'>): string | number | null {
  return typeof value === 'string' ? addressText(value) : value;
}
