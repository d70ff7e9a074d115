/** Computes the tables of the report from its data: `node report/write-report.ts`. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { reportFolder } from './read-results.ts';
import { reportText } from './report-text.ts';

const file = path.join(reportFolder, 'README.md');
writeFileSync(file, reportText(readFileSync(file, 'utf8')));
