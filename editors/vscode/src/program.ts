/** Where the program jobspec is: what the settings name, the environment of a folder, or the PATH. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = process.platform === "win32" ? ["jobspec.exe"] : ["jobspec"];
const ENVIRONMENTS = [".venv", "venv"];
const PROGRAMS = process.platform === "win32" ? "Scripts" : "bin";

/** The path of the program; undefined where there is none. */
export function program(setting: string, folders: readonly string[], path: string): string | undefined {
  if (setting !== "") {
    return isProgram(setting) ? setting : undefined;
  }
  const inside = folders.flatMap((folder) => ENVIRONMENTS.map((name) => join(folder, name, PROGRAMS)));
  const places = [...inside, ...path.split(delimiter).filter((each) => each !== "")];
  return places.flatMap((place) => NAMES.map((name) => join(place, name))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
