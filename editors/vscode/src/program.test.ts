import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

import { program } from "./program";

const root = mkdtempSync(join(tmpdir(), "jobspec-"));
after(() => rmSync(root, { recursive: true }));

function made(...parts: string[]): string {
  const path = join(root, ...parts);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o755);
  return path;
}

const inPath = made("path", "jobspec");
const inFolder = made("folder", ".venv", "bin", "jobspec");
const named = made("elsewhere", "mine");

test("the settings win", () => assert.equal(program(named, [join(root, "folder")], join(root, "path")), named));
test("the environment of the folder comes before the PATH", () =>
  assert.equal(program("", [join(root, "folder")], join(root, "path")), inFolder));
test("the PATH is the last", () => assert.equal(program("", [join(root, "other")], `:${join(root, "none")}:${join(root, "path")}`), inPath));
test("a setting that names nothing is no reason to start another program", () =>
  assert.equal(program(join(root, "none"), [join(root, "folder")], join(root, "path")), undefined));
test("there may be none", () => assert.equal(program("", [], join(root, "none")), undefined));
