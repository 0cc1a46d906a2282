// The least of Vulkan that computes: one queue, buffers that the host sees, one pipeline.
#include "tests/support/vulkan.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/temp_dir.h"

#if __has_include(<vulkan/vulkan.h>)
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>
#define VELDT_HAS_VULKAN 1
#else
#define VELDT_HAS_VULKAN 0
#endif

namespace veldt::test {

bool has_glslc() { return std::system("glslc --version > /dev/null 2>&1") == 0; }

std::vector<std::uint32_t> compile_glsl(const std::string& shader) {
  const TempDir dir;
  const std::filesystem::path folder = dir.path(), text = folder / "shader.comp",
                              binary = folder / "shader.spv", said = folder / "said";
  std::ofstream(text) << shader;
  const std::string command = "glslc --target-env=vulkan1.1 -O0 '" + text.string() + "' -o '" +
                              binary.string() + "' 2> '" + said.string() + "'";
  if (std::system(command.c_str()) != 0) {
    std::stringstream why;
    why << std::ifstream(said).rdbuf();
    throw std::runtime_error("glslc: " + why.str());
  }
  std::vector<std::uint32_t> code(std::filesystem::file_size(binary) / 4);
  std::ifstream(binary, std::ios::binary)
      .read(reinterpret_cast<char*>(code.data()), static_cast<std::streamsize>(code.size() * 4));
  return code;
}

#if VELDT_HAS_VULKAN

namespace {

void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string(what) + " gave VkResult " + std::to_string(result));
}

struct Buffer {
  VkBuffer buffer = nullptr;
  VkDeviceMemory memory = nullptr;
  void* at = nullptr;
};

struct Pipeline {
  VkShaderModule module = nullptr;
  VkDescriptorSetLayout set = nullptr;
  VkPipelineLayout layout = nullptr;
  VkPipeline pipeline = nullptr;
};

struct Descriptors {
  VkDescriptorPool pool = nullptr;
  VkDescriptorSet set = nullptr;
};

}  // namespace

struct Vulkan::State {
  void* library = nullptr;
  PFN_vkGetInstanceProcAddr get = nullptr;
  VkInstance instance = nullptr;
  VkPhysicalDevice physical = nullptr;
  VkDevice device = nullptr;
  VkQueue queue = nullptr;
  VkCommandPool pool = nullptr;
  std::uint32_t family = 0;

  template <class Fn> Fn find(const char* name) const { return reinterpret_cast<Fn>(get(instance, name)); }
#define VELDT_VK(name) find<PFN_##name>(#name)

  void open();
  bool choose_device(std::string& name);
  void open_device();
  Buffer make_buffer(std::size_t bytes);
  void drop(const Buffer& b);
  Pipeline make_pipeline(const std::vector<std::uint32_t>& code, std::uint32_t buffers);
  void drop(const Pipeline& p);
  Descriptors make_descriptors(const Pipeline& pipeline, const std::vector<Buffer>& buffers);
  void dispatch(const Pipeline& pipeline, const Descriptors& descriptors, const std::uint32_t (&push)[2]);
};

void Vulkan::State::open() {
  const VkApplicationInfo app{
      VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, "veldt", 0, "", 0, VK_API_VERSION_1_1};
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &app;
  check(VELDT_VK(vkCreateInstance)(&info, nullptr, &instance), "vkCreateInstance");
}

// Mesa's, which runs on the CPU: its quotients and roots are rounded correctly, a GPU's need not be. Formulas
// want doubles and whole numbers of 64 bits.
bool Vulkan::State::choose_device(std::string& name) {
  std::uint32_t count = 0;
  VELDT_VK(vkEnumeratePhysicalDevices)(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  VELDT_VK(vkEnumeratePhysicalDevices)(instance, &count, devices.data());
  for (VkPhysicalDevice one : devices) {
    VkPhysicalDeviceFeatures has{};
    VkPhysicalDeviceProperties is{};
    VELDT_VK(vkGetPhysicalDeviceFeatures)(one, &has);
    VELDT_VK(vkGetPhysicalDeviceProperties)(one, &is);
    if (is.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU || !has.shaderFloat64 || !has.shaderInt64) continue;
    physical = one;
    name = is.deviceName;
    return true;
  }
  return false;
}

void Vulkan::State::open_device() {
  std::uint32_t count = 0;
  VELDT_VK(vkGetPhysicalDeviceQueueFamilyProperties)(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  VELDT_VK(vkGetPhysicalDeviceQueueFamilyProperties)(physical, &count, families.data());
  while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkPhysicalDeviceFeatures wanted{};
  wanted.shaderFloat64 = wanted.shaderInt64 = VK_TRUE;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  info.pEnabledFeatures = &wanted;
  check(VELDT_VK(vkCreateDevice)(physical, &info, nullptr, &device), "vkCreateDevice");
  VELDT_VK(vkGetDeviceQueue)(device, family, 0, &queue);
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = family;
  check(VELDT_VK(vkCreateCommandPool)(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
}

Buffer Vulkan::State::make_buffer(std::size_t bytes) {
  Buffer b;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  check(VELDT_VK(vkCreateBuffer)(device, &info, nullptr, &b.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  VELDT_VK(vkGetBufferMemoryRequirements)(device, b.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory;
  VELDT_VK(vkGetPhysicalDeviceMemoryProperties)(physical, &memory);
  constexpr VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.allocationSize = needs.size;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((needs.memoryTypeBits >> i & 1) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
      allocate.memoryTypeIndex = i;
  check(VELDT_VK(vkAllocateMemory)(device, &allocate, nullptr, &b.memory), "vkAllocateMemory");
  check(VELDT_VK(vkBindBufferMemory)(device, b.buffer, b.memory, 0), "vkBindBufferMemory");
  check(VELDT_VK(vkMapMemory)(device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.at), "vkMapMemory");
  return b;
}

void Vulkan::State::drop(const Buffer& b) {
  VELDT_VK(vkDestroyBuffer)(device, b.buffer, nullptr);
  VELDT_VK(vkFreeMemory)(device, b.memory, nullptr);
}

Pipeline Vulkan::State::make_pipeline(const std::vector<std::uint32_t>& code, std::uint32_t buffers) {
  Pipeline p;
  VkShaderModuleCreateInfo module{};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = code.size() * 4;
  module.pCode = code.data();
  check(VELDT_VK(vkCreateShaderModule)(device, &module, nullptr, &p.module), "vkCreateShaderModule");

  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (std::uint32_t i = 0; i < buffers; ++i)
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = buffers;
  set.pBindings = bindings.data();
  check(VELDT_VK(vkCreateDescriptorSetLayout)(device, &set, nullptr, &p.set), "vkCreateDescriptorSetLayout");

  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 8};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &p.set;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  check(VELDT_VK(vkCreatePipelineLayout)(device, &layout, nullptr, &p.layout), "vkCreatePipelineLayout");

  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = p.module;
  info.stage.pName = "main";
  info.layout = p.layout;
  check(VELDT_VK(vkCreateComputePipelines)(device, nullptr, 1, &info, nullptr, &p.pipeline),
        "vkCreateComputePipelines");
  return p;
}

void Vulkan::State::drop(const Pipeline& p) {
  VELDT_VK(vkDestroyPipeline)(device, p.pipeline, nullptr);
  VELDT_VK(vkDestroyPipelineLayout)(device, p.layout, nullptr);
  VELDT_VK(vkDestroyDescriptorSetLayout)(device, p.set, nullptr);
  VELDT_VK(vkDestroyShaderModule)(device, p.module, nullptr);
}

Descriptors Vulkan::State::make_descriptors(const Pipeline& pipeline, const std::vector<Buffer>& buffers) {
  Descriptors d;
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  static_cast<std::uint32_t>(buffers.size())};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = 1;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  check(VELDT_VK(vkCreateDescriptorPool)(device, &info, nullptr, &d.pool), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocate.descriptorPool = d.pool;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &pipeline.set;
  check(VELDT_VK(vkAllocateDescriptorSets)(device, &allocate, &d.set), "vkAllocateDescriptorSets");
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    const VkDescriptorBufferInfo whole{buffers[i].buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = d.set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &whole;
    VELDT_VK(vkUpdateDescriptorSets)(device, 1, &write, 0, nullptr);
  }
  return d;
}

void Vulkan::State::dispatch(const Pipeline& pipeline, const Descriptors& descriptors,
                             const std::uint32_t (&push)[2]) {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = nullptr;
  check(VELDT_VK(vkAllocateCommandBuffers)(device, &info, &commands), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  check(VELDT_VK(vkBeginCommandBuffer)(commands, &begin), "vkBeginCommandBuffer");
  VELDT_VK(vkCmdBindPipeline)(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  VELDT_VK(vkCmdBindDescriptorSets)
  (commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &descriptors.set, 0, nullptr);
  VELDT_VK(vkCmdPushConstants)(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), push);
  VELDT_VK(vkCmdDispatch)(commands, (push[1] + 63) / 64, 1, 1);
  check(VELDT_VK(vkEndCommandBuffer)(commands), "vkEndCommandBuffer");
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(VELDT_VK(vkQueueSubmit)(queue, 1, &submit, nullptr), "vkQueueSubmit");
  check(VELDT_VK(vkQueueWaitIdle)(queue), "vkQueueWaitIdle");
  VELDT_VK(vkFreeCommandBuffers)(device, pool, 1, &commands);
}

Vulkan::Vulkan() : state_(std::make_unique<State>()) {
  state_->library = dlopen("libvulkan.so.1", RTLD_NOW);
  if (!has_glslc())
    missing_ = "glslc is not here (Debian: glslc)";
  else if (!state_->library)
    missing_ = "libvulkan.so.1 is not here (Debian: libvulkan1)";
  if (!missing_.empty()) return;
  state_->get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(state_->library, "vkGetInstanceProcAddr"));
  try {
    state_->open();
    if (state_->choose_device(device_))
      state_->open_device();
    else
      missing_ = "no Vulkan device that runs on the CPU is here (Debian: mesa-vulkan-drivers)";
  } catch (const std::runtime_error& error) {
    missing_ = error.what();
  }
}

Vulkan::~Vulkan() {
  State& s = *state_;
  if (s.device) {
    s.VELDT_VK(vkDestroyCommandPool)(s.device, s.pool, nullptr);
    s.VELDT_VK(vkDestroyDevice)(s.device, nullptr);
  }
  if (s.instance) s.VELDT_VK(vkDestroyInstance)(s.instance, nullptr);
}

std::vector<std::vector<float>> Vulkan::run(const std::string& shader,
                                            const std::vector<std::vector<float>>& inputs, int formulas) {
  State& s = *state_;
  const std::size_t n = inputs.at(0).size();
  std::vector<Buffer> buffers;
  for (const std::vector<float>& input : inputs) {
    buffers.push_back(s.make_buffer(input.size() * sizeof(float)));
    std::memcpy(buffers.back().at, input.data(), input.size() * sizeof(float));
  }
  buffers.push_back(s.make_buffer(n * sizeof(float)));
  const auto count = static_cast<std::uint32_t>(buffers.size());
  const Pipeline pipeline = s.make_pipeline(compile_glsl(shader), count);
  const Descriptors descriptors = s.make_descriptors(pipeline, buffers);
  std::vector<std::vector<float>> out;
  for (int formula = 0; formula < formulas; ++formula) {
    s.dispatch(pipeline, descriptors, {static_cast<std::uint32_t>(formula), static_cast<std::uint32_t>(n)});
    const auto* y = static_cast<const float*>(buffers.back().at);
    out.emplace_back(y, y + n);
  }
  s.VELDT_VK(vkDestroyDescriptorPool)(s.device, descriptors.pool, nullptr);
  s.drop(pipeline);
  for (const Buffer& b : buffers) s.drop(b);
  return out;
}

#else

struct Vulkan::State {};
Vulkan::Vulkan() : missing_("the tests were built without Vulkan's headers (Debian: libvulkan-dev)") {}
Vulkan::~Vulkan() = default;
std::vector<std::vector<float>> Vulkan::run(const std::string&, const std::vector<std::vector<float>>&, int) {
  throw std::runtime_error(missing_);
}

#endif

}  // namespace veldt::test
