/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: cities and their countries. A city is in one of the two files only, so
 * the test measures cities that were not trained on.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import type { CityTask } from './agent.ts';

/** Well-known cities by country. The last two of a country are held out. */
const cities: Readonly<Record<string, readonly string[]>> = {
  Argentina: ['Córdoba', 'Rosario', 'Buenos Aires', 'Mendoza'],
  Australia: ['Sydney', 'Brisbane', 'Perth', 'Adelaide', 'Melbourne', 'Canberra'],
  Austria: ['Vienna', 'Graz', 'Linz', 'Salzburg', 'Innsbruck'],
  Belgium: ['Brussels', 'Ghent', 'Antwerp', 'Bruges'],
  Brazil: ['Rio de Janeiro', 'Brasília', 'Salvador', 'Recife', 'São Paulo', 'Fortaleza'],
  Canada: ['Toronto', 'Vancouver', 'Ottawa', 'Calgary', 'Montreal', 'Winnipeg'],
  China: ['Beijing', 'Shanghai', 'Guangzhou', 'Wuhan', 'Shenzhen', 'Chengdu'],
  Egypt: ['Cairo', 'Aswan', 'Alexandria', 'Luxor'],
  France: ['Paris', 'Lyon', 'Nice', 'Toulouse', 'Bordeaux', 'Marseille', 'Strasbourg'],
  Germany: ['Berlin', 'Hamburg', 'Cologne', 'Frankfurt', 'Stuttgart', 'Munich', 'Dresden'],
  Greece: ['Athens', 'Sparta', 'Thessaloniki', 'Patras'],
  India: ['Mumbai', 'Kolkata', 'Chennai', 'Hyderabad', 'Jaipur', 'Delhi', 'Bangalore'],
  Iran: ['Tehran', 'Isfahan', 'Shiraz', 'Tabriz'],
  Ireland: ['Dublin', 'Galway', 'Cork', 'Limerick'],
  Italy: ['Rome', 'Milan', 'Naples', 'Turin', 'Bologna', 'Florence', 'Venice'],
  Japan: ['Tokyo', 'Osaka', 'Nagoya', 'Sapporo', 'Kyoto', 'Hiroshima'],
  Mexico: ['Guadalajara', 'Monterrey', 'Puebla', 'Cancún', 'Tijuana'],
  Norway: ['Oslo', 'Trondheim', 'Bergen', 'Stavanger'],
  Peru: ['Lima', 'Arequipa', 'Cusco', 'Trujillo'],
  Poland: ['Warsaw', 'Gdańsk', 'Poznań', 'Kraków', 'Wrocław'],
  Portugal: ['Lisbon', 'Braga', 'Porto', 'Coimbra'],
  Russia: ['Moscow', 'Kazan', 'Novosibirsk', 'Saint Petersburg', 'Vladivostok'],
  Spain: ['Madrid', 'Seville', 'Valencia', 'Bilbao', 'Barcelona', 'Granada'],
  Sweden: ['Stockholm', 'Uppsala', 'Gothenburg', 'Malmö'],
  Switzerland: ['Bern', 'Basel', 'Zurich', 'Geneva'],
  Turkey: ['Ankara', 'Izmir', 'Istanbul', 'Antalya'],
};

function writeTasks(file: string, tasks: readonly CityTask[]): void {
  writeFileSync(new URL(file, import.meta.url), `${tasks.map((task) => JSON.stringify(task)).join('\n')}\n`);
}

const tasksOf = (pick: (names: readonly string[]) => readonly string[]): readonly CityTask[] =>
  Object.entries(cities).flatMap(([country, names]) => pick(names).map((city) => ({ city, country })));

writeTasks(
  'tasks/train.jsonl',
  tasksOf((names) => names.slice(0, -2)),
);
writeTasks(
  'tasks/test.jsonl',
  tasksOf((names) => names.slice(-2)),
);
