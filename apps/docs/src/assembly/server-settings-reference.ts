import type { Setting } from '../../../trainer/src/server/settings/setting-table.ts';
import { codeCell, tableCell } from './markdown-table.ts';
import type { Page } from './page.ts';

/** The page of the settings of `agl server`. */
export function serverSettingsPage(settings: readonly Setting[], schema: object): Page {
  const rows = settings.map((setting) => {
    const value = setting.default === null ? 'not set' : codeCell(String(setting.default));
    const places = `${codeCell(setting.flag)} | ${codeCell(setting.environment)}`;
    return `| ${codeCell(setting.name)} | ${places} | ${value} | ${tableCell(setting.description)} |`;
  });
  return {
    slug: 'reference/server-settings',
    title: 'Settings of agl server',
    description:
      'Every setting of agl server, with its key in the configuration file, its flag and its environment variable.',
    order: 2,
    body: `A setting is taken from its flag, else its environment variable, else the file of \`--config\`, else the default.

| Key | Flag | Variable | Default | Meaning |
|---|---|---|---|---|
${rows.join('\n')}

The JSON Schema of the file, as \`agl config schema\` prints it:

\`\`\`json
${JSON.stringify(schema, null, 2)}
\`\`\``,
  };
}
