import type { Argument, Command, Option } from 'commander';
import { codeCell, tableCell } from './markdown-table.ts';
import type { Page } from './page.ts';

/** The pages of the command line reference, one for each command. */
export function commandPages(program: Command): readonly Page[] {
  return program.commands
    .filter((command) => command.name() !== 'help')
    .map((command, index) => commandPage(command, index + 1));
}

function commandPage(command: Command, order: number): Page {
  return {
    slug: `reference/cli/${command.name()}`,
    title: `agl ${command.name()}`,
    description: command.description(),
    order,
    body: sections(command, ['agl', command.name()]).join('\n\n'),
  };
}

/** Usage, arguments, flags and notes of a command, followed by those of its sub-commands. */
function sections(command: Command, names: readonly string[]): readonly string[] {
  const subCommands = command.commands.filter((each) => each.name() !== 'help');
  const notes = notesOf(command);
  return [
    command.description(),
    `\`\`\`sh\n${[...names, command.usage()].join(' ')}\n\`\`\``,
    ...(command.registeredArguments.length > 0 ? [argumentTable(command.registeredArguments)] : []),
    ...(command.options.length > 0 ? [optionTable(command.options)] : []),
    ...(notes === '' ? [] : [`\`\`\`text\n${notes}\n\`\`\``]),
    ...subCommands.flatMap((each) => {
      const path = [...names, each.name()];
      return [`## ${path.join(' ')}`, ...sections(each, path)];
    }),
  ];
}

function argumentTable(args: readonly Argument[]): string {
  const rows = args.map((argument) => {
    const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
    return `| ${codeCell(name)} | ${tableCell(argument.description)} | ${defaultText(argument)} |`;
  });
  return `| Argument | Meaning | Default |\n|---|---|---|\n${rows.join('\n')}`;
}

function optionTable(options: readonly Option[]): string {
  const rows = options
    .filter((option) => !option.hidden)
    .map((option) => {
      const choices = option.argChoices?.map((choice) => `\`${choice}\``).join(', ');
      const meaning = tableCell(option.description) + (choices === undefined ? '' : `: ${choices}`);
      return `| ${codeCell(option.flags)}${option.mandatory ? ' (required)' : ''} | ${meaning} | ${defaultText(option)} |`;
    });
  return `| Flag | Meaning | Default |\n|---|---|---|\n${rows.join('\n')}`;
}

function defaultText({
  defaultValue,
  defaultValueDescription,
}: Pick<Option, 'defaultValue' | 'defaultValueDescription'>): string {
  const value: unknown = defaultValueDescription ?? defaultValue;
  if (value === undefined || value === false || value === true) return '';
  return codeCell(typeof value === 'string' ? value : JSON.stringify(value));
}

/** The text that follows the flags in `--help`: examples, variables, exit codes. */
function notesOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help.slice(command.helpInformation().length).trim();
}
