/**
 * `node tools/api-reports.ts [--check]`: writes the public surface of every package to `docs/api/<package>.api.md`, from the
 * built declarations (API Extractor). With `--check` it only compares, and exits with 1 when a report is out of date.
 *
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { listPackageFolders, repositoryRoot } from './repository-files.ts';

/** Folder of the committed reports. */
const reportFolder = join(repositoryRoot, 'docs/api');

/** Entry points that need Vitest, start a program or are marked internal have no report. */
const unreported = /^\.\/(testing|contracts|internal(\/.+)?|settings|metrics|protocol|register|main|package\.json)$/;

interface EntryPoint {
  readonly packageFolder: string;
  /** File name of the report. */
  readonly report: string;
  /** The built declarations. */
  readonly declarations: string;
}

function entryPoints(): readonly EntryPoint[] {
  return listPackageFolders().flatMap((folder) => {
    const packageFolder = join(repositoryRoot, folder);
    const { name, exports = {} } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly exports?: Readonly<Record<string, { readonly types?: string }>>;
    };
    return Object.entries(exports)
      .filter(([entry, { types }]) => !unreported.test(entry) && types !== undefined)
      .map(([entry, { types = '' }]) => ({
        packageFolder,
        report: `${name.replace('@agentlightning/', '')}${entry.slice(1).replaceAll('/', '-')}.api.md`,
        declarations: join(packageFolder, types),
      }));
  });
}

interface UpdatedReport {
  readonly isChanged: boolean;
  /** Members without documentation, with their places. */
  readonly undocumented: readonly string[];
}

/** Compares a report with the current surface; writes it unless only checking. */
function updateReport({ packageFolder, report, declarations }: EntryPoint, isCheck: boolean): UpdatedReport {
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: packageFolder,
      mainEntryPointFilePath: declarations,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            moduleResolution: 'nodenext',
            target: 'es2024',
            skipLibCheck: true,
            types: ['node'],
          },
          files: [declarations],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: report,
        reportFolder,
        reportTempFolder: join(tmpdir(), 'agentlightning-api'),
      },
      newlineKind: 'lf',
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.None },
          'ae-undocumented': { logLevel: ExtractorLogLevel.Warning },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(packageFolder, 'package.json'),
  });
  const undocumented: string[] = [];
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: !isCheck,
    messageCallback: (message) => {
      message.handled = true;
      if (message.messageId !== 'ae-undocumented') return;
      const file = relative(repositoryRoot, message.sourceFilePath ?? declarations);
      undocumented.push(`${file}:${message.sourceFileLine ?? 0}: ${message.text}`);
    },
  });
  return { isChanged: apiReportChanged, undocumented };
}

mkdirSync(reportFolder, { recursive: true });
const isCheck = process.argv.includes('--check');
const entries = entryPoints();
for (const entry of entries) {
  if (!existsSync(entry.declarations)) throw new Error(`${entry.declarations} is missing: run \`pnpm build\`.`);
  const { isChanged, undocumented } = updateReport(entry, isCheck);
  if (isChanged) {
    console.log(`${isCheck ? 'out of date' : 'updated'}: docs/api/${entry.report}`);
    if (isCheck) process.exitCode = 1;
  }
  if (undocumented.length > 0) {
    console.log(undocumented.join('\n'));
    process.exitCode = 1;
  }
}
for (const report of readdirSync(reportFolder).filter((file) => !entries.some((entry) => entry.report === file))) {
  if (!isCheck) rmSync(join(reportFolder, report));
  console.log(`${isCheck ? 'without an entry point' : 'removed'}: docs/api/${report}`);
  if (isCheck) process.exitCode = 1;
}
