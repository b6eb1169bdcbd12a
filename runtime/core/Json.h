//===- Json.h - Checked access to parsed JSON -------------------*- C++ -*-===//
//
// nlohmann::json throws where a type differs. These readers report instead, with the path of what is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_JSON_H
#define PARA_RUNTIME_CORE_JSON_H

#include "Status.h"

#include <nlohmann/json.hpp>

namespace para::runtime {

using Json = nlohmann::json;

/// Reads the fields of one object and collects the first complaint.
class JsonReader {
public:
  JsonReader(const Json &object, std::string path) : object(object), path(std::move(path)) {
    if (!object.is_object())
      complain("is not an object");
  }
  void required(const char *name, std::string &value) { read(name, value, true); }
  void optional(const char *name, std::string &value) { read(name, value, false); }
  void required(const char *name, int64_t &value) { read(name, value, true); }
  void optional(const char *name, int64_t &value) { read(name, value, false); }
  void optional(const char *name, bool &value) {
    if (const Json *field = find(name, false)) {
      if (field->is_boolean())
        value = field->get<bool>();
      else
        complain(std::string("'") + name + "' is not true or false");
    }
  }
  void required(const char *name, double &value) { read(name, value, true); }
  void optional(const char *name, double &value) { read(name, value, false); }
  void required(const char *name, std::vector<int64_t> &values) { read(name, values, true); }
  void optional(const char *name, std::vector<int64_t> &values) { read(name, values, false); }
  void required(const char *name, std::vector<std::string> &values) {
    values.clear();
    for (const Json &item : array(name, true)) {
      if (!item.is_string())
        return complain(std::string("'") + name + "' holds something other than strings");
      values.push_back(item.get<std::string>());
    }
  }
  /// The items of an array field; an empty array where it is absent and not needed.
  const Json &array(const char *name, bool isRequired) {
    static const Json empty = Json::array();
    const Json *field = find(name, isRequired);
    if (!field)
      return empty;
    if (!field->is_array()) {
      complain(std::string("'") + name + "' is not a list");
      return empty;
    }
    return *field;
  }
  const Json *find(const char *name, bool isRequired) {
    if (!object.is_object())
      return nullptr;
    auto it = object.find(name);
    if (it == object.end() || it->is_null()) {
      if (isRequired)
        complain(std::string("lacks '") + name + "'");
      return nullptr;
    }
    return &*it;
  }
  void complain(const std::string &what) {
    if (problem.empty())
      problem = path + " " + what;
  }
  Status status() const { return problem.empty() ? Status::success() : Status::error(problem); }

private:
  void read(const char *name, std::string &value, bool isRequired) {
    if (const Json *field = find(name, isRequired)) {
      if (field->is_string())
        value = field->get<std::string>();
      else
        complain(std::string("'") + name + "' is not a string");
    }
  }
  void read(const char *name, int64_t &value, bool isRequired) {
    if (const Json *field = find(name, isRequired)) {
      if (field->is_number_integer())
        value = field->get<int64_t>();
      else
        complain(std::string("'") + name + "' is not an integer");
    }
  }
  void read(const char *name, double &value, bool isRequired) {
    if (const Json *field = find(name, isRequired)) {
      if (field->is_number())
        value = field->get<double>();
      else
        complain(std::string("'") + name + "' is not a number");
    }
  }
  void read(const char *name, std::vector<int64_t> &values, bool isRequired) {
    values.clear();
    for (const Json &item : array(name, isRequired)) {
      if (!item.is_number_integer())
        return complain(std::string("'") + name + "' holds something other than integers");
      values.push_back(item.get<int64_t>());
    }
  }

  const Json &object;
  std::string path, problem;
};

} // namespace para::runtime

#endif
