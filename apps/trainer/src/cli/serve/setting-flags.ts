import { AgentLightningError } from '@agentlightning/core';
import { type Command, InvalidArgumentError } from 'commander';
import { parseSettingText, type Setting, settings } from '../../server/settings/setting-table.ts';

/** Adds `--config` and a flag for each setting of a server. Absent flags have no value. */
export function addSettingFlags(command: Command): Command {
  command.option('--config <file>', 'the settings as YAML or JSON');
  for (const setting of settings) command.option(setting.flag, helpOf(setting), parserOf(setting));
  return command;
}

function helpOf({ description, default: value, environment }: Setting): string {
  return `${description} (${environment}${value === null ? '' : `; default: ${value}`})`;
}

function parserOf(setting: Setting): (text: string) => string | number | null {
  return (text) => {
    try {
      return parseSettingText(setting, text, 'value');
    } catch (error) {
      if (!AgentLightningError.isInstance(error)) throw error;
      throw new InvalidArgumentError(error.message.replace('[CONFIG] value: ', 'It '));
    }
  };
}
