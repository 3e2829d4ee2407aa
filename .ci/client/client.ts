// A program of a user of the API: it searches, explains the best hit, and prints what `seewhy query` and `explain` print.
import type { components, operations } from "./schema";

type Schemas = components["schemas"];
type Answer<Name extends keyof operations> = operations[Name]["responses"] extends {
  200: { content: { "application/json": infer Body } };
}
  ? Body
  : never;
type Parameters<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;

declare const process: { argv: string[] };
const address = process.argv[2] ?? "";

async function get<Name extends keyof operations>(path: string, parameters: Parameters<Name>): Promise<Answer<Name>> {
  const pairs = Object.entries(parameters as object).map(([name, value]) => [name, String(value)]);
  const response = await fetch(`${address}api/v1/${path}?${new URLSearchParams(pairs)}`);
  if (!response.ok) {
    const problem: Schemas["ProblemDetails"] = await response.json();
    throw new Error(`${problem.code}: ${problem.detail}`);
  }
  return response.json();
}

const q = "why is a score a sum";
const { hits, next } = await get<"search">("search", { q, k: 2, mode: "hybrid" });
const best = hits[0];
if (!best) throw new Error("no hits");
const score: number = best.score;
const spans: [number, number][] | undefined = best.highlights;
const says: Schemas["Verdict"]["says"] | undefined = best.verdict?.says;
const why = await get<"explain">("explain", { q, passage: best.passage_id });
const total = why.shares.reduce((sum, share) => sum + share.contribution, why.residual);
const cosines: number[][] = why.similarity;

// @ts-expect-error: the score is a number.
const text: string = best.score;
// @ts-expect-error: a hit has no such field.
best.distance;
// @ts-expect-error: there is no such mode.
await get<"search">("search", { q, mode: "fuzzy" }).catch(() => undefined);
// @ts-expect-error: a query is required.
await get<"search">("search", { k: 2 }).catch(() => undefined);

console.log(JSON.stringify({ score, total, says, spans: spans?.length, rows: cosines.length, next: typeof next, text }));
