import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { allRunMetrics, findRunMetric } from '../../packages/core/src/telemetry/run-metrics.ts';
import { metricDocument, metricDocumentText } from '../generate-metric-docs.ts';
import { listFiles, readText, repositoryRoot } from '../repository-files.ts';
import type { Convention } from './convention.ts';

const metricsAreListed: Convention = {
  name: `${metricDocument} lists the metrics of the catalogue`,
  findProblems: () => {
    const current = existsSync(join(repositoryRoot, metricDocument)) ? readText(metricDocument) : '';
    return current === metricDocumentText() ? [] : [`${metricDocument} is out of date: run \`pnpm metric-docs\``];
  },
};

const catalogueFolder = 'packages/core/src/telemetry/';
const isSource = (path: string): boolean =>
  /^(apps|packages)\/[^/]+\/(src|web)\/.*\.tsx?$/.test(path) &&
  !/\.test\.tsx?$|\/gen\/|^packages\/core\/src\/testing\//.test(path) &&
  !path.startsWith(catalogueFolder);

const isComment = (line: string): boolean => /^\s*(\*|\/\/|\/\*)/.test(line);

const namesComeFromCatalogue: Convention = {
  name: 'names of metrics are written in the catalogue only',
  findProblems: () => {
    const quoted = allRunMetrics().map(({ name }) => {
      const [start = '', ...rest] = name.split(/<\w+>/);
      return new RegExp(rest.length === 0 ? `['"\`]${name}['"\`]` : `['"\`]${start}(?!\\w+['"]).*${rest.join('')}`);
    });
    return listFiles(isSource).flatMap((path) =>
      readText(path)
        .split('\n')
        .flatMap((line, index) => {
          const isWritten = !isComment(line) && quoted.some((name) => name.test(line));
          return isWritten ? [`${path}:${index + 1}: use the name in ${catalogueFolder}: ${line.trim()}`] : [];
        }),
    );
  },
};

/** The groups of the metrics that the Python runtime reports. */
const pythonMetric = /f?"((?:policy|value|train|optimizer|step|memory|time)\/[\w{}]+)"/g;

const pythonNamesAreKnown: Convention = {
  name: 'the catalogue has the metrics of the Python runtime',
  findProblems: () =>
    listFiles((path) => /^apps\/gpu-runtime\/src\/.*\.py$/.test(path)).flatMap((path) =>
      [...readText(path).matchAll(pythonMetric)].flatMap(([, name = '']) =>
        findRunMetric(name) === null ? [`${path}: ${name} is missing in ${catalogueFolder}`] : [],
      ),
    ),
};

/** Conventions of metrics. */
export const metricRules: readonly Convention[] = [metricsAreListed, namesComeFromCatalogue, pythonNamesAreKnown];
